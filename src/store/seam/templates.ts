// THE STORE SEAM: templates. store.ts has the rules for all tables.
import type { TemplateKey } from '../../domain/template-key.ts';
import type { Template } from '../../schema/template.ts';

/** A template without an `owner_id` is shared. */
export interface TemplateRecord extends Omit<Template, 'metadata' | 'env' | 'setup' | 'worker_labels'> {
  worker_labels: Record<string, string>;
  metadata: Record<string, string>;
  env: Record<string, string>;
  setup: string[];
}

/** The fields that an update replaces. */
export type TemplateFacts = Omit<
  TemplateRecord,
  'name' | 'owner_id' | 'version' | 'created_at' | 'updated_at'
>;

export type TemplatePlace = TemplateKey & Pick<TemplateRecord, 'created_at'>;

export interface TemplateLimits {
  /** The limit of all owners together, and separately of shared templates. */
  most: number;
  ofOwner: number;
}

export interface TemplateFilter {
  limit: number;
  /** Selects the templates of this owner and the shared ones; absent selects all. */
  owner_id?: string;
  after?: TemplatePlace;
}

export type Replacement =
  | { kind: 'replaced'; template: TemplateRecord }
  | { kind: 'absent' }
  | { kind: 'stale'; version: number };

export interface TemplateStore {
  /** Throws `conflict` if the owner or a shared template has the name, `resource_limit` if there are too many. */
  create(template: TemplateRecord, limits: TemplateLimits): Promise<void>;
  /** The owner's template, otherwise the shared one. */
  get(key: TemplateKey): Promise<TemplateRecord | undefined>;
  /** Newest first (created_at, then name, then owner, all descending, the shared one last). */
  list(filter: TemplateFilter): Promise<TemplateRecord[]>;
  /** Templates with prewarming, by name. */
  prewarmed(): Promise<TemplateRecord[]>;
  /** Replaces all fields and increases the version by 1; only while the version is in `versions`, if given. */
  replace(
    key: TemplateKey,
    facts: TemplateFacts,
    at: { updated_at: string; versions?: readonly number[] },
  ): Promise<Replacement>;
  /** Deletes exactly this template; false if there is none. */
  delete(key: TemplateKey): Promise<boolean>;
}
