// What rows of the speed table share: the world that they need.
import type { Need } from './needs.ts';
import type { Pair } from './row.ts';

export interface Group {
  /** The subject of the measurements, in a few words. */
  about: string;
  /** The requirements on this machine; none unless given. */
  need?: Need;
  ids: readonly string[];
  /** Measures code of the source in this process, not a server of `root`. */
  isInside?: true;
  /** Passes each pair to `measure`, which skips those that were not requested. */
  run(root: string, measure: (pair: Pair) => Promise<void>): Promise<void>;
}

/** Whether `only` selects a row. */
export function isWanted(id: string, only: readonly string[] | undefined): boolean {
  return !only || only.some((name) => id === name || id.startsWith(`${name}-`));
}
