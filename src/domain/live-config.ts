// The configuration of a running process, which a reload replaces. This is the only path by which a changed value
// reaches the part that uses it.
import type { Config } from '../schema/config.ts';

/** `T` names the sections that a part needs. */
export interface LiveConfig<T = Config> {
  /** The values that apply now, frozen. Read them at each use: a section that was kept goes out of date. */
  current(): T;
  /**
   * Calls `listener` after each reload that changed a value, earlier listeners first. A section without a change is the
   * same object in `current` and `previous`. A listener must not throw.
   */
  onChange(listener: (current: T, previous: T) => void): void;
}
