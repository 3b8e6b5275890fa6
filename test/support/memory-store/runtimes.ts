// Runtimes of services that name them, as a map: the reference for what the seam means.
import { LOCAL_WORKER } from '../../../src/domain/worker-id.ts';
import type { RuntimeStore } from '../../../src/store/seam/runtimes.ts';
import { active, type Tables } from './tables.ts';

export function memoryRuntimes(tables: Tables): RuntimeStore {
  const holders = new Map<string, string>();
  const keyOf = (provider: string, runtime_id: string) => `${provider} ${runtime_id}`;
  const rows = () => [...tables.warm.values(), ...active(tables)];
  const living = (key: string) => rows().find(({ id }) => id === holders.get(key))?.id;
  const assign: RuntimeStore['assign'] = async (provider, runtime_id, sandbox_id) => {
    const key = keyOf(provider, runtime_id);
    const holder = living(key) ?? sandbox_id;
    holders.set(key, holder);
    return holder;
  };
  return {
    assign,
    adopt: async (provider) => {
      for (const key of holders.keys()) if (living(key) === undefined) holders.delete(key);
      for (const row of rows())
        if (row.provider === provider && row.worker_id === LOCAL_WORKER && row.runtime_id !== undefined)
          await assign(provider, row.runtime_id, row.id);
    },
    find: async (provider, runtime_id) => living(keyOf(provider, runtime_id)),
    release: async (sandbox_id) => {
      for (const [key, id] of holders) if (id === sandbox_id) holders.delete(key);
    },
  };
}
