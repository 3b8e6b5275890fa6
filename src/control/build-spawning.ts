// The part of the control plane that starts sandboxes: the queue, prewarmed sandboxes and the spawner.
import { defined } from '../domain/defined.ts';
import type { Logger } from '../domain/ports.ts';
import { LOCAL_WORKER } from '../domain/worker-id.ts';
import type { EventDraft } from '../schema/event.ts';
import type { ControlDeps, Foundation, Runtime } from './build-runtime.ts';
import { Prewarm } from './prewarm/prewarm.ts';
import { MemoryQueue } from './queue/memory-queue.ts';
import type { SpawnQueue } from './queue/queue.ts';
import { SharedQueue } from './queue/shared-queue.ts';
import { Demand } from './runtime/demand.ts';
import { SpawnOrders } from './spawn/orders.ts';
import { Spawner } from './spawn/spawn.ts';

export type Spawning = ReturnType<typeof buildSpawning>;

/** How sandboxes come to be: the queue, prewarmed sandboxes and the spawner. */
export function buildSpawning(
  { host: { cpus, memoryMb }, ids, logger }: ControlDeps,
  foundation: Foundation,
  runtime: Runtime,
) {
  const { replica, replicas, roles, clock, store, providers, settings, limitsOf, publisher } = foundation;
  const { sandboxes, templates, warm, workers, idempotency } = store;
  const { fleet, sessions, deadlines, spawns, probes, runtimes, rollback, destroyer, reaper, openOutcomes } =
    runtime;
  const { gates, credentials } = runtime;
  const demand = new Demand({ clock, signals: store.signals, replica, logger });
  const prewarm = new Prewarm({
    demand,
    memoryMb,
    replica,
    replicas,
    roles,
    warm,
    workers,
    templates,
    sandboxes,
    providers,
    probes,
    fleet,
    runtimes,
    sessions,
    settings,
    limitsOf,
    credentials,
    egress: gates,
    cpus,
    ids,
    clock,
    logger,
  });
  const orders = new SpawnOrders({
    sandboxes,
    templates,
    idempotency,
    providers,
    probes,
    fleet,
    prewarm,
    demand,
    spawns,
    replica,
    openOutcomes,
    publisher,
    credentials,
    egress: gates,
    settings,
    limitsOf,
    cpus,
    ids,
    clock,
    logger,
    deadlineSet: () => reaper.wake(),
  });
  const queue = spawnQueue(foundation, runtime, orders, logger);
  const spawner = new Spawner({
    orders,
    fleet,
    sandboxes,
    idempotency,
    signals: store.signals,
    replicas,
    providers,
    probes,
    prewarm,
    queue,
    sessions,
    deadlines,
    runtimes,
    rollback,
    egress: gates,
    destroyer,
    openOutcomes,
    publisher,
    ids,
    settings,
    clock,
    logger,
  });
  return { prewarm, queue, spawner };
}

/** A queue that learns of every ended sandbox and every ended VM of the pool, since both free capacity. */
function spawnQueue(
  foundation: Foundation,
  { vms, gates, openOutcomes }: Runtime,
  orders: SpawnOrders,
  logger: Logger,
): SpawnQueue {
  const { publisher, settings } = foundation;
  const unwanted = openOutcomes.unwanted.bind(openOutcomes);
  const queue = emptyQueue(foundation, orders, { unwanted, logger });
  publisher.onEnd((event) => {
    const { sandbox_id, data } = event;
    if (sandbox_id !== undefined) gates.close(sandbox_id);
    // With `auto`, a spawn that waits for one provider may run on another worker's provider of another kind.
    if (data?.worker_id !== LOCAL_WORKER && settings.defaultProvider === 'auto') queue.limitsChanged();
    queue.freed(freedBy(event));
  });
  publisher.onEnding((event) => queue.freeing?.(freedBy(event)));
  vms.onEnd((provider) => queue.freed({ provider }));
  return queue;
}

const freedBy = ({ owner_id, data }: EventDraft) =>
  defined({ owner_id, provider: typeof data?.provider === 'string' ? data.provider : undefined });

/** Over the tickets of the store where several processes share it. */
function emptyQueue(
  { store, replica, replicas, roles, clock, settings, publisher, limitsOf }: Foundation,
  orders: SpawnOrders,
  { unwanted, logger }: { unwanted: (sandbox_id: string) => void; logger: Logger },
): SpawnQueue {
  const { tickets, signals } = store;
  if (!tickets) return new MemoryQueue({ publisher, clock }, settings.queue);
  const isAlive = (id: string) => replicas.isAlive(id);
  const parts = { tickets, signals, replica, isAlive, publisher, unwanted, clock, logger };
  const work = { holds: () => roles.holds('desk'), limitsOf, attempt: orders.attempt.bind(orders) };
  const queue = new SharedQueue({ ...parts, ...work }, settings.queue);
  roles.watch('desk', { gained: () => queue.desk.open(), lost: () => queue.desk.close() });
  return queue;
}
