// A provider as a control plane has it when a worker runs it: a real worker server on loopback with the provider behind it, and
// the real client of workers in front. What a control plane adds (leases, a newer one after each renewal) is done here.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signLease } from '../../../src/domain/lease.ts';
import { realClock } from '../../../src/host/clock.ts';
import { realIds } from '../../../src/host/ids.ts';
import { realRandom } from '../../../src/host/random.ts';
import type { Provider, RuntimeRef } from '../../../src/providers/provider.ts';
import { providerSet } from '../../../src/providers/registry.ts';
import { remoteProviders } from '../../../src/providers/remote/remote-providers.ts';
import { openWorkerJournal } from '../../../src/store/sqlite/worker-journal.ts';
import type { ControlLink } from '../../../src/worker/control-link.ts';
import { workerCredential } from '../../../src/worker/credential.ts';
import { startWorker } from '../../../src/worker/worker.ts';
import type { ProviderGround } from '../../contract/provider.suite.ts';
import { silentLogger } from '../fakes/ports.ts';
import { removeFolder } from '../remove.ts';

const ID = 'w1';
const SECRET = 'the secret of w1, not to be shared';
const LEASE_MS = 90_000;
/** A lifetime that a server would ask for. */
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

export interface BehindWorker {
  /** The ground of `behind`, as control planes of the worker have it. */
  ground(behind: ProviderGround): ProviderGround;
  /** Stops the worker; what it runs goes on. */
  stop(): Promise<void>;
}

/** Starts a worker over `provider`, which the caller closes. */
export async function behindWorker(provider: Provider): Promise<BehindWorker> {
  const [clock, random] = [realClock(), realRandom()];
  const ids = realIds(random);
  const folder = mkdtempSync(join(tmpdir(), 'svc-behind-'));
  const generations = new Map<string, number>();
  const lease = (resource_id: string) => {
    const generation = generations.get(resource_id) ?? 1;
    generations.set(resource_id, generation);
    const expires_at = new Date(clock.now() + LEASE_MS).toISOString();
    return signLease(SECRET, { resource_id, holder_id: ID, generation, expires_at });
  };
  const link: ControlLink = {
    heartbeat: async () => ({ id: ID, status: 'online', drain: false }),
    renew: async ({ resource_id }) => {
      generations.set(resource_id, (generations.get(resource_id) ?? 1) + 1);
      return { lease: lease(resource_id) };
    },
  };
  const journal = await openWorkerJournal({ path: join(folder, 'worker.db'), clock, ids, random });
  const worker = await startWorker({
    ...{ id: ID, link, providers: providerSet([provider]), journal, clock, ids, random },
    ...{ logger: silentLogger, heartbeatMs: 1000, maxSandboxes: 0, sessionsAllowed: true },
    credential: workerCredential({ worker_tokens: { [ID]: SECRET } }, ID, { clock, ids }),
    facts: {
      hostname: 'here',
      version: '0.0.0',
      capacity: { max_sandboxes: 0, memory_mb: 0, vcpus: 0 },
      labels: {},
    },
    serve: { host: '127.0.0.1', port: 0, rpcUrl: (port) => `http://127.0.0.1:${port}` },
  });
  const clients: { close(): Promise<void> }[] = [];
  const client = (): Provider => {
    const all = remoteProviders({ clock, ids, random, logger: silentLogger, allowLoopback: true });
    clients.push(all);
    const remote = all.of({ id: ID, rpc_url: worker.rpcUrl ?? '', secret: SECRET }, provider.kind);
    const leased = (ref: RuntimeRef): RuntimeRef => ({ ...ref, lease: lease(ref.id) });
    return {
      ...remote,
      create: (spec, signal) => remote.create({ ...spec, lease: lease(spec.id) }, signal),
      destroy: (ref, signal) => remote.destroy(leased(ref), signal),
      attach: (ref, signal) => remote.attach(leased(ref), signal),
    };
  };
  const first = client();
  return {
    ground: (behind) => ({
      ...behind,
      provider: first,
      restarted: client,
      spec: (id, change) => behind.spec(id, { expires_at: inAnHour(), ...change }),
    }),
    stop: async () => {
      for (const one of clients) await one.close();
      await worker.close(1000);
      await journal.close();
      removeFolder(folder);
    },
  };
}
