// THE STORE SEAM: templates. store.ts says what holds for all.
import type { TemplateKey } from '../../domain/template-key.ts';
import type { Template } from '../../schema/template.ts';

/** Without an `owner_id` it is shared. */
export interface TemplateRecord extends Omit<Template, 'metadata' | 'env' | 'setup'> {
  metadata: Record<string, string>;
  env: Record<string, string>;
  setup: string[];
}

/** What an update replaces. */
export type TemplateFacts = Omit<
  TemplateRecord,
  'name' | 'owner_id' | 'version' | 'created_at' | 'updated_at'
>;

export type TemplatePlace = TemplateKey & Pick<TemplateRecord, 'created_at'>;

export interface TemplateLimits {
  /** Of all owners together, and as many again that are shared. */
  most: number;
  ofOwner: number;
}

export interface TemplateFilter {
  limit: number;
  /** Those of this owner and those that are shared; absent: all. */
  owner_id?: string;
  after?: TemplatePlace;
}

export type Replacement =
  | { kind: 'replaced'; template: TemplateRecord }
  | { kind: 'absent' }
  | { kind: 'stale'; version: number };

export interface TemplateStore {
  /** Throws `conflict` when its owner or a shared one has the name, `resource_limit` when there are too many already. */
  create(template: TemplateRecord, limits: TemplateLimits): Promise<void>;
  /** The owner's, else the one that is shared. */
  get(key: TemplateKey): Promise<TemplateRecord | undefined>;
  /** Newest first (created_at, then name, then owner, all descending, the shared one last). */
  list(filter: TemplateFilter): Promise<TemplateRecord[]>;
  /** Those that want sandboxes kept ready, by name. */
  prewarmed(): Promise<TemplateRecord[]>;
  /** All facts are replaced, version + 1; only while its version is one of `versions`, when they are given. */
  replace(
    key: TemplateKey,
    facts: TemplateFacts,
    at: { updated_at: string; versions?: readonly number[] },
  ): Promise<Replacement>;
  /** Exactly this one; false when there was none. */
  delete(key: TemplateKey): Promise<boolean>;
}
