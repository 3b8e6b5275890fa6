// THE STORE SEAM: templates. store.ts says what holds for all.
import type { Template } from '../../schema/template.ts';

export interface TemplateRecord extends Omit<Template, 'metadata' | 'env' | 'setup'> {
  metadata: Record<string, string>;
  env: Record<string, string>;
  setup: string[];
}

/** What an update replaces. */
export type TemplateFacts = Omit<TemplateRecord, 'name' | 'version' | 'created_at' | 'updated_at'>;

export type Replacement =
  | { kind: 'replaced'; template: TemplateRecord }
  | { kind: 'absent' }
  | { kind: 'stale'; version: number };

export interface TemplateStore {
  /** Throws `conflict` when the name is taken, `resource_limit` when there are `most` already. */
  create(template: TemplateRecord, most: number): Promise<void>;
  get(name: string): Promise<TemplateRecord | undefined>;
  /** Newest first (created_at, then name, both descending), those after `after`. */
  list(limit: number, after?: { created_at: string; name: string }): Promise<TemplateRecord[]>;
  /** All facts anew, version + 1; only while its version is one of `versions`, when they are given. */
  replace(
    name: string,
    facts: TemplateFacts,
    at: { updated_at: string; versions?: readonly number[] },
  ): Promise<Replacement>;
  /** False when there was none. */
  delete(name: string): Promise<boolean>;
}
