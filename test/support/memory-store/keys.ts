// Named keys of the memory store.
import type { KeyPosition, KeyRecord, KeyStore } from '../../../src/store/seam/keys.ts';
import { copy } from './tables.ts';

/** `changed` raises the counter of changes. */
export type MemoryKeys = KeyStore & { changed(): void };

export function memoryKeys(): MemoryKeys {
  const keys = new Map<string, KeyRecord>();
  let changes = 0;
  const valid = () => [...keys.values()].filter(({ revoked_at }) => revoked_at === undefined);
  const newest = () => [...keys.values()].sort(byNewest);
  const changed = (key: KeyRecord) => {
    changes += 1;
    keys.set(key.id, key);
    return copy(key);
  };
  return {
    create: async (key, { most, most_of_owner }) => {
      if (valid().some(({ name }) => name === key.name)) return 'taken';
      if (valid().length >= most) return 'full';
      const owned = valid().filter(({ owner_id }) => owner_id !== undefined && owner_id === key.owner_id);
      if (owned.length >= most_of_owner) return 'owner_full';
      changed(copy(key));
      return 'created';
    },
    rotate: async (id, from, rotation) => {
      const key = keys.get(id);
      if (key?.hash !== from || key.revoked_at !== undefined) return undefined;
      const values = Object.entries({ ...key, ...rotation }).filter(([, value]) => value !== null);
      return changed(Object.fromEntries(values) as unknown as KeyRecord);
    },
    revoke: async (id, { at, by, kept }) => {
      const key = keys.get(id);
      if (!key || key.revoked_at !== undefined) return copy(key);
      const revoked = changed({ ...key, revoked_at: at, revoked_by: by });
      const all = [...keys.values()].filter(({ revoked_at }) => revoked_at !== undefined);
      const order = ({ revoked_at, id: own }: KeyRecord) => `${revoked_at} ${own}`;
      all.sort((a, b) => (order(a) < order(b) ? 1 : -1));
      for (const { id: old } of all.slice(kept)) keys.delete(old);
      return keys.has(id) ? revoked : undefined;
    },
    used: async (uses) => {
      for (const { id, at } of uses) {
        const key = keys.get(id);
        if (key && (key.last_used_at ?? '') < at) keys.set(id, { ...key, last_used_at: at });
      }
    },
    purge: async (before) => {
      const isOld = (stamp: string | undefined) => stamp !== undefined && stamp < before;
      const old = [...keys.values()].filter((key) => isOld(key.revoked_at) || isOld(key.expires_at));
      for (const { id } of old) keys.delete(id);
      if (old.length > 0) changes += 1;
      return old.length;
    },
    find: async (text) => {
      const named = newest().filter(({ name }) => name === text);
      return copy(keys.get(text) ?? named.find(({ revoked_at }) => revoked_at === undefined) ?? named[0]);
    },
    list: async (limit, after) =>
      copy(
        newest()
          .filter((key) => !after || byNewest(key, after) > 0)
          .slice(0, limit),
      ),
    all: async () => copy([...keys.values()]),
    changes: async () => changes,
    changed: () => {
      changes += 1;
    },
  };
}

const order = ({ created_at, id }: KeyPosition) => `${created_at} ${id}`;
const byNewest = (a: KeyPosition, b: KeyPosition) => (order(a) < order(b) ? 1 : order(a) > order(b) ? -1 : 0);
