// What a process says about itself.
import type { Clock } from '../../../src/domain/ports.ts';
import type { ReplicaFacts } from '../../../src/store/seam/replicas.ts';
import { stamp } from '../records.ts';

export const replicaFacts = (id: string): ReplicaFacts => ({
  id,
  url: `http://${id}:7423`,
  version: '0.0.0',
  config_print: 'c0ffee',
  started_at: stamp(),
});

/** The clock as a machine has it whose monotonic time runs at another speed. */
export function clockAtRate(clock: Clock, rate: number): Clock {
  return {
    now: clock.now,
    monotonic: () => clock.monotonic() * rate,
    after: (ms, run) => clock.after(ms / rate, run),
    sleep: (ms, signal) => clock.sleep(ms / rate, signal),
  };
}
