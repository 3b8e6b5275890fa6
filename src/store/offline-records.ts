// What `svc doctor` reads of the records without a server, whatever the database is.
import type { KeyScope } from '../schema/key-words.ts';
import type { Instance } from './store.ts';

export interface KnownRuntimes {
  instance: Pick<Instance, 'id' | 'key'>;
  /** `<id>.<epoch>` of every row that may have a runtime. */
  names: ReadonlySet<string>;
  /** The recorded end of each sandbox, ISO 8601, by name. */
  expires_at: ReadonlyMap<string, string>;
}

export interface TemplateImage {
  name: string;
  image: string;
  /** Null: the default provider runs the sandboxes of the template. */
  provider: string | null;
}

/** What a check needs of a named key: neither its hash nor its prefix. */
export interface ValidKey {
  name: string;
  scopes: KeyScope[];
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}
