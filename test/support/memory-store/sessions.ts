// Sessions of the memory store.
import type { SessionRecord, SessionStore } from '../../../src/store/seam/sessions.ts';
import { copy } from './tables.ts';

/** `changed` raises the counter of changes of keys. */
export function memorySessions(changed: () => void): SessionStore {
  const sessions = new Map<string, SessionRecord>();
  return {
    open: async (session, ended) => {
      for (const id of ended) sessions.delete(id);
      if (!sessions.has(session.id)) sessions.set(session.id, copy(session));
      changed();
    },
    renew: async (id, expires_at) => {
      const session = sessions.get(id);
      if (!session) return false;
      sessions.set(id, { ...session, expires_at });
      changed();
      return true;
    },
    end: async (ids) => {
      for (const id of ids) sessions.delete(id);
      changed();
    },
    take: async (hash, now, as) => {
      const found = [...sessions.values()].find(
        (one) => [hash, as].includes(one.hash) && one.expires_at > now,
      );
      if (!found) return undefined;
      sessions.set(found.id, { ...found, hash: as });
      changed();
      return { ...found, hash: as };
    },
    all: async () => copy([...sessions.values()]),
  };
}
