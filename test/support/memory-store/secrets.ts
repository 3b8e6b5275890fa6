// Sealed secrets of the memory store.
import type { SecretRecord, SecretStore } from '../../../src/store/seam/secrets.ts';

export function memorySecrets(): SecretStore {
  const secrets = new Map<string, SecretRecord>();
  const copy = <T>(value: T): T => structuredClone(value);
  const kindOf = (name: string) => name.split('/')[0];
  return {
    put: async (secret, most) => {
      const others = [...secrets.keys()].filter(
        (name) => name !== secret.name && kindOf(name) === kindOf(secret.name),
      );
      if (others.length >= most) return undefined;
      const { created_at } = secrets.get(secret.name) ?? secret;
      const stored = { ...copy(secret), created_at };
      secrets.set(secret.name, stored);
      return copy(stored);
    },
    add: async (secret) => {
      const stored = secrets.get(secret.name) ?? copy(secret);
      secrets.set(secret.name, stored);
      return copy(stored);
    },
    remove: async (name) => void secrets.delete(name),
    list: async (kind) =>
      copy([...secrets.values()].filter(({ name }) => kindOf(name) === kind)).sort((a, b) =>
        a.name < b.name ? -1 : 1,
      ),
  };
}
