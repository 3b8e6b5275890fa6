// The egress of a worker over a session that a test brings.
import type { EgressDeps } from '../../../src/egress/egress.ts';
import { openEgress } from '../../../src/egress/open-egress.ts';
import { realRandom } from '../../../src/host/random.ts';
import { WorkerEgress, type WorkerEgressDeps } from '../../../src/worker/worker-egress.ts';
import { testConfig } from '../config.ts';
import { type FakeClock, silentLogger } from '../fakes/ports.ts';

type Io = NonNullable<Awaited<ReturnType<WorkerEgressDeps['session']>>>['io'];

/** `resolver`: the machine's own unless it is given. */
export function workerEgress(clock: FakeClock, io: Io, resolver?: EgressDeps['resolver']): WorkerEgress {
  const settings = {
    ...{ proxy_port: 7424, connect_timeout: 5000, idle_timeout: 60_000, max_connections: 100 },
    ...{ new_connections_per_minute: 1200, resolver: 'system' as const },
  };
  const parts = { clock, random: realRandom(), onEvent: () => undefined, ownAddresses: () => [] };
  return new WorkerEgress({
    egress: openEgress({ ...parts, settings: () => settings, ...(resolver && { resolver }) }),
    own: testConfig({}).egress,
    session: async () => ({ io, release: () => undefined }),
    conceal: () => () => undefined,
    clock,
    logger: silentLogger,
  });
}
