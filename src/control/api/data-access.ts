// Access to the inside of a sandbox by a token instead of an API key.
import type { DataTokenKind, SignedFile } from '../../domain/data-token.ts';
import type { Caller } from './caller.ts';

export interface DataAccess {
  /** The tokens of a sandbox. They do not change while it lives, and every server on the database makes the same. */
  tokensOf(sandbox_id: string): Record<'access' | 'traffic', string>;
  /** What the service proves itself with to the code interpreter of a sandbox. */
  codeToken(sandbox_id: string): string;
  /** The sandbox that a token opens, whether or not it still runs; undefined for a token that is not ours. */
  sandboxOf(kind: DataTokenKind, token: string): string | undefined;
  /** Who holds the token of a sandbox: a caller that may use the inside of this one. */
  holderOf(sandbox_id: string, request_id: string): Caller;
  /** Whether the sandbox can be used now: it runs, and has not ended. */
  isUsable(sandbox_id: string): Promise<boolean>;
  /** Whether a link to a file of this sandbox has the right signature. */
  isSigned(sandbox_id: string, file: SignedFile, signature: string): boolean;
  /**
   * The live sandbox to whose file a link without its id leads; undefined when none of them signed it. Throws `bad_request` where
   * more than 1,000 live: the link must name its sandbox then.
   */
  findSigned(file: SignedFile, signature: string): Promise<string | undefined>;
}
