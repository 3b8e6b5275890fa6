// What rows of the speed table share: the world that they need.
import type { Need } from './needs.ts';
import type { Pair } from './row.ts';

export interface Group {
  /** The subject of the measurements, in a few words. */
  about: string;
  /** The requirements on this machine; none unless given. */
  need?: Need;
  ids: readonly string[];
  /** Passes each pair to `measure`, which skips those that were not requested. */
  run(root: string, measure: (pair: Pair) => Promise<void>): Promise<void>;
}
