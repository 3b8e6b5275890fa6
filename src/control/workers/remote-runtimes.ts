// The runtimes of rows of other workers: calls the worker under the lease of the row. A worker is called to create,
// inspect, end and renew, and its sandboxes are used over sessions.
import { refuseDifferences } from '../../domain/differences.ts';
import { ServiceError } from '../../domain/errors.ts';
import { wrapNotStarted } from '../../domain/not-started.ts';
import { accountOnWorkers } from '../../domain/owner-account.ts';
import type { Clock } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { canPull, workerCapabilities } from '../../domain/worker-capabilities.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider, RemoteProviders, RuntimeRef, RuntimeSpec } from '../../providers/provider.ts';
import type { WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import type { SandboxStore } from '../../store/store.ts';
import { endOfSpawn } from '../runtime/in-flight-spawns.ts';
import type { OpenEgressLink } from '../runtime/remote-gate.ts';
import { type Runtime, type Runtimes, runtimeRef, runtimeSpec } from '../runtime/runtimes.ts';
import type { Fleet } from './fleet.ts';
import { LOST_AFTER_MS } from './lease-monitor.ts';

export interface RemoteRuntimesDeps {
  workers: Pick<WorkerStore, 'get'>;
  sandboxes: Pick<SandboxStore, 'get'>;
  fleet: Fleet;
  remote: RemoteProviders | undefined;
  /** How long a spawn waits for the pull of its image, in ms. */
  spawnWaitMs: number;
  clock: Clock;
}

/** When to spawn again after a pull took too long. */
const PULLING_MS = 10_000;
/** A timer may fire slightly early. */
const TIMER_SLACK_MS = 10;
/** The limit for a last call to a worker whose lease has expired. */
const BRIEFLY_MS = 2000;

export function remoteRuntimes(deps: RemoteRuntimesDeps): Runtimes & { openLink: OpenEgressLink } {
  const { leases } = deps.fleet;
  return {
    create: async (plan, signal) => {
      const { worker, provider } = await workerOf(deps, plan.row);
      const { spec, warnings } = fitted(runtimeSpec(plan), worker);
      refuseDifferences(spec.strict, warnings);
      const notes = await wrapNotStarted(readyThere(deps, { worker, provider, spec }, signal), signal);
      // Taken after the pull, which may have lasted longer than the lease of the reservation.
      const lease = (await leases.acquired(plan.row.id)) && (await leases.toCall(plan.row.id));
      if (!lease) throw await endOfSpawn(deps.sandboxes, plan.row.id);
      const created = await provider.create({ ...spec, lease }, signal);
      return { ...created, warnings: [...warnings, ...created.warnings], notes };
    },
    inspect: async (row, signal) => (await workerOf(deps, row)).provider.inspect(runtimeRef(row), signal),
    hasCurrentImage: async (row, signal) => {
      const { provider } = await workerOf(deps, row);
      return provider.hasCurrentImage?.(runtimeRef(row), signal);
    },
    destroy: async (row, signal) => {
      const overMs = await leases.overFor(row.id);
      if (overMs === undefined) return;
      await whileLent(deps, row, { signal, withinMs: Math.max(LOST_AFTER_MS - overMs, BRIEFLY_MS) });
    },
    attach: (row, signal) => present(deps, row, (provider, ref) => provider.attach(ref, signal)),
    openLink: (row, onNews, signal) =>
      present(deps, row, (provider, ref) => provider.openEgress?.(ref, onNews, signal) ?? noEgress(row)),
    usage: async (rows, signal) => {
      const [first] = rows;
      if (!first) return new Map();
      const { provider } = await workerOf(deps, first);
      return (await provider.usage?.(rows.map(runtimeRef), signal)) ?? new Map();
    },
    capabilities: async (row) => {
      const { worker } = await workerOf(deps, row);
      return workerCapabilities(worker, row.provider);
    },
  };
}

/** Gets the image on the worker. Workers of earlier versions, and those without an image store, do it or fail when they start it. */
async function readyThere(
  { clock, spawnWaitMs }: RemoteRuntimesDeps,
  { worker, provider, spec }: { worker: WorkerRecord; provider: Provider; spec: RuntimeSpec },
  signal: AbortSignal,
): Promise<string[]> {
  const { image = '', image_policy = 'optional', private_images } = spec;
  const pulls = image_policy === 'missing' || image_policy === 'always';
  if (image === '' || !pulls || !canPull(worker, provider.kind)) return [];
  const error = () =>
    new ServiceError('unavailable', `Worker ${worker.id} is still pulling image ${image}.`, {
      remedy: 'Spawn again in a moment: the pull continues.',
      retryAfterMs: PULLING_MS,
    });
  const bound = { clock, ms: spawnWaitMs, error, signal };
  const wish = { image, image_policy, account: accountOnWorkers(spec.account), private_images };
  return withTimeout(bound, async (inTime) => (await provider.readyImage?.(wish, inTime)) ?? []);
}

/** Under the lease that holds when the call arrives. */
function present<T>(
  deps: RemoteRuntimesDeps,
  row: Runtime,
  call: (provider: Provider, ref: RuntimeRef) => Promise<T>,
): Promise<T> {
  return deps.fleet.leases.present(row.id, async (lease) => {
    if (!lease) throw named(row, 'no longer holds a lease of this sandbox');
    return call((await workerOf(deps, row)).provider, { ...runtimeRef(row), lease });
  });
}

/**
 * Ends the sandbox, or resolves when its worker must have ended it by itself. A worker that hangs is not waited for
 * beyond that. It is called in any case: after a clock change during an absence of this server, leases look expired.
 */
async function whileLent(
  deps: RemoteRuntimesDeps,
  row: Runtime,
  { signal, withinMs }: { signal: AbortSignal; withinMs: number },
): Promise<void> {
  const { leases } = deps.fleet;
  const error = () => new ServiceError('timeout', `${nameOf(row)} did not end the sandbox in time.`);
  const bound = { clock: deps.clock, ms: withinMs + TIMER_SLACK_MS, error, signal };
  try {
    await withTimeout(bound, async (inTime) => {
      const lease = await leases.toCall(row.id);
      if (lease) await (await workerOf(deps, row)).provider.destroy({ ...runtimeRef(row), lease }, inTime);
    });
  } catch (error) {
    const overMs = await leases.overFor(row.id);
    if (overMs !== undefined && overMs < LOST_AFTER_MS) throw error;
  }
}

/** A worker that reports no processor count limits vcpus itself. */
function fitted(
  spec: RuntimeSpec,
  { id, capacity }: WorkerRecord,
): { spec: RuntimeSpec; warnings: string[] } {
  const vcpus = Math.min(spec.vcpus, capacity.vcpus || spec.vcpus);
  if (vcpus === spec.vcpus) return { spec, warnings: [] };
  return { spec: { ...spec, vcpus }, warnings: [`vcpus is ${vcpus}: worker ${id} has no more.`] };
}

async function workerOf({ workers, fleet, remote }: RemoteRuntimesDeps, row: Runtime) {
  const worker = await workers.get(row.worker_id ?? LOCAL_WORKER);
  const callee = worker && fleet.callee(worker);
  if (remote && callee) return { worker, provider: remote.of(callee, row.provider) };
  throw named(row, 'cannot be called', CHECK_ADDRESS);
}

const noEgress = (row: Runtime) => Promise.reject(named(row, 'holds no egress policies'));

const CHECK_ADDRESS = 'Check the list of workers: a worker without an address was started without --listen.';
const nameOf = ({ worker_id = LOCAL_WORKER }: Runtime) => `Worker ${worker_id}`;

function named(row: Runtime, says: string, remedy?: string): ServiceError {
  return new ServiceError('unavailable', `${nameOf(row)} ${says}.`, {
    ...(remedy !== undefined && { remedy }),
    details: { worker_id: row.worker_id },
  });
}
