// Stands in for the housekeeping: the real one, but it comes round every two seconds instead of once a minute.
import { type HousekeepingDeps, Housekeeping as Real } from '../../src/control/maintenance/housekeeping.ts';

const FASTER = 30;

export class Housekeeping extends Real {
  constructor({ clock, ...deps }: HousekeepingDeps) {
    super({ ...deps, clock: { ...clock, after: (ms, work) => clock.after(ms / FASTER, work) } });
  }
}
