// Commands of sandboxes as a plain list: the reference for what the seam means.
import type { ExecStore, StoredExec } from '../../../src/store/seam/execs.ts';
import { copy, type Tables } from './tables.ts';

export function memoryExecs({ sandboxes }: Pick<Tables, 'sandboxes'>): ExecStore {
  let all: StoredExec[] = [];
  /** Newest first; those of deleted sandboxes are deleted. */
  const kept = () => {
    all = all.filter(({ sandbox_id }) => sandboxes.has(sandbox_id));
    return [...all].reverse();
  };
  return {
    record: async (execs) => {
      for (const exec of copy(execs)) {
        const at = all.findIndex(
          ({ sandbox_id, exec_id }) => sandbox_id === exec.sandbox_id && exec_id === exec.exec_id,
        );
        if (at < 0) all.push(exec);
        else all[at] = exec;
      }
    },
    list: async (sandbox_id, limit) =>
      copy(kept().filter((exec) => exec.sandbox_id === sandbox_id)).slice(0, limit),
    prune: async (most, mostOfOne) => {
      const newest = kept();
      const counts = new Map<string, number>();
      const stays = newest.slice(0, most).filter(({ sandbox_id }) => {
        const count = (counts.get(sandbox_id) ?? 0) + 1;
        counts.set(sandbox_id, count);
        return count <= mostOfOne;
      });
      all = stays.reverse();
      return newest.length - all.length;
    },
  };
}
