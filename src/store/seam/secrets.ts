// THE STORE SEAM: sealed secrets. store.ts has the rules for all tables. The key that opens them is not in the store.

/** The kinds of secrets, which are the first part of names: `credential/openai`, `authority/egress`. */
export const SECRET_KINDS = ['credential', 'authority'] as const;
export type SecretKind = (typeof SECRET_KINDS)[number];

export interface SecretRecord {
  /** `<kind>/<name>`. */
  name: string;
  /** What may be shown of it. */
  facts: Readonly<Record<string, unknown>>;
  /** As `domain/seal.ts` writes it, for the purpose `name`. */
  sealed: string;
  created_at: string;
  updated_at: string;
}

export interface SecretStore {
  /**
   * Adds or replaces a secret, whose `created_at` stays. Undefined when there are `most` other secrets of its kind already.
   * Harmless to repeat.
   */
  put(secret: SecretRecord, most: number): Promise<SecretRecord | undefined>;
  /** Adds a secret unless there is one of this name. Resolves with the stored one. Harmless to repeat. */
  add(secret: SecretRecord): Promise<SecretRecord>;
  /** Harmless to repeat, and when there is none. */
  remove(name: string): Promise<void>;
  /** All of one kind, by name. */
  list(kind: SecretKind): Promise<SecretRecord[]>;
}
