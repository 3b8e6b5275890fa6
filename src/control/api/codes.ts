// Codes that are good once, for a minute.
import type { SessionRecord } from '../../store/seam/sessions.ts';

export type CodeRights = Pick<SessionRecord, 'parent' | 'actor' | 'owner_id' | 'scopes'>;

export interface OneTimeCodes {
  /** A code for this purpose alone. */
  issue(purpose: string, rights: CodeRights): Promise<{ code: string; expires_at: string }>;
  /** What the code was issued with. Throws `unauthorized` for every other one, and for one whose key has ended. */
  take(purpose: string, code: string): Promise<CodeRights>;
}
