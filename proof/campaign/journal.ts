// The answers that the clients of a campaign received, kept on their side: a server that has failed must still know them.

/** A sandbox that a client was given. */
export interface Given {
  owner: string;
  /** It may have ended: by a destroy, by its TTL, or because a fault killed it. */
  mayEnd: boolean;
  /** Its end was confirmed. */
  hasEnded: boolean;
  /** The latest deadline that was confirmed. */
  expires_at: string;
}

export interface Journal {
  given: Map<string, Given>;
  /** Idempotency keys, and what was given for them. */
  keyed: Map<string, Set<string>>;
  /** Limits of owners and names of templates: the values that confirmed operations and those in flight allow. */
  quotas: Map<string, Set<number | undefined>>;
  templates: Map<string, Set<number | undefined>>;
  /** Answers that nobody should get from a server that lives. */
  surprises: string[];
}

export function emptyJournal(): Journal {
  return {
    ...{ given: new Map(), keyed: new Map(), quotas: new Map(), templates: new Map() },
    surprises: [],
  };
}

/** Notes that `name` may be `next` from now on, and only that once `work` has succeeded. */
export async function changing<T>(
  book: Map<string, Set<number | undefined>>,
  { name, next }: { name: string; next: number | undefined },
  work: () => Promise<T>,
): Promise<T> {
  book.set(name, new Set([...(book.get(name) ?? [undefined]), next]));
  const done = await work();
  book.set(name, new Set([next]));
  return done;
}
