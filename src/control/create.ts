// Puts the control plane together. `app` hands in the parts; nothing here knows which store or providers they are.
import type { ByteLedger } from '../domain/byte-ledger.ts';
import { KeyedLock } from '../domain/keyed-lock.ts';
import type { Boot, Clock, Ids, Logger } from '../domain/ports.ts';
import { type SteadyClock, steadyClock } from '../domain/steady-clock.ts';
import { LOCAL_WORKER } from '../domain/worker-id.ts';
import type { EventBus } from '../events/bus.ts';
import { EventFeed } from '../events/feed.ts';
import type { EventWriter } from '../events/writer.ts';
import type { ProviderSet, RemoteProviders } from '../providers/provider.ts';
import type { Config } from '../schema/config.ts';
import type { Store } from '../store/store.ts';
import { files } from './access/files.ts';
import { logs } from './access/logs.ts';
import { hasPreviews, previews } from './access/previews.ts';
import { SandboxAccess } from './access/session-access.ts';
import type { ControlPlane } from './api/control-plane.ts';
import { execs } from './exec/exec.ts';
import { Background } from './maintenance/background.ts';
import { ClockWatch } from './maintenance/clock-watch.ts';
import { Housekeeping } from './maintenance/housekeeping.ts';
import { Reaper } from './maintenance/reaper.ts';
import { Reconciler } from './maintenance/reconcile.ts';
import { RuntimeWatch } from './maintenance/runtime-watch.ts';
import { Meter } from './metrics/meter.ts';
import { metricViews } from './metrics/metric-views.ts';
import { Metrics } from './metrics/metrics.ts';
import { Instruments } from './metrics/readings.ts';
import { poolViews } from './pool/pool-views.ts';
import { tenants } from './pool/tenants.ts';
import { Vms } from './pool/vms.ts';
import { Prewarm } from './prewarm/prewarm.ts';
import { SpawnQueue } from './queue/queue.ts';
import { finder } from './records/find.ts';
import { ownerLimits } from './records/owner-limits.ts';
import { Publisher } from './records/publish.ts';
import { controlSettings, type Settings, takeDefaults } from './records/settings.ts';
import { Destroyer } from './runtime/destroy.ts';
import { InFlightSpawns } from './runtime/in-flight-spawns.ts';
import { LivenessChecker } from './runtime/liveness.ts';
import { Probes } from './runtime/probes.ts';
import { rollbackSpawn } from './runtime/rollback.ts';
import { runtimes } from './runtime/runtimes.ts';
import { Sessions } from './runtime/sessions.ts';
import { uniqueRuntimes } from './runtime/unique-runtimes.ts';
import { sandboxes } from './sandboxes/sandboxes.ts';
import { requirePoolHost } from './spawn/choose.ts';
import { Spawner } from './spawn/spawn.ts';
import { AuditTrail } from './system/audit.ts';
import { eventViews } from './system/events.ts';
import { healthViews } from './system/health.ts';
import { providerViews } from './system/providers.ts';
import { quotaViews } from './system/quotas.ts';
import { BucketRateLimits } from './system/rate-limits.ts';
import { snapshotViews } from './system/snapshots.ts';
import { templates } from './templates/templates.ts';
import { fleetOf } from './workers/fleet.ts';
import { LeaseMonitor } from './workers/lease-monitor.ts';
import { remoteRuntimes } from './workers/remote-runtimes.ts';
import { RemoteStatus } from './workers/remote-status.ts';

export interface ControlDeps {
  config: Config;
  store: Store;
  providers: ProviderSet;
  /** Hears of state changes after their commit. */
  bus: EventBus;
  /** Takes the events that no state change waits for. */
  writer: EventWriter;
  clock: Clock;
  boot: Boot;
  ids: Ids;
  logger: Logger;
  version: string;
  /** Of all bytes kept for callers. */
  ledger: ByteLedger;
  /** Where numbers are kept; a fresh one unless given. */
  metrics?: Metrics;
  /** The newest log lines, redacted, for diagnostics. */
  recentLogs?: (() => Record<string, unknown>[]) | undefined;
  /** Calls other workers; absent: there are none. */
  remote?: RemoteProviders | undefined;
  host: { cpus: number; memoryMb?: number; hostname?: string; kernel?: string };
  /** Masks secrets in what the API shows of the configuration. */
  redact(value: unknown): unknown;
}

/** Built, not started: `start()` begins background work. */
export function createControlPlane(given: ControlDeps): ControlPlane {
  const { metrics = new Metrics() } = given;
  const deps = metered({ ...given, metrics, clock: steadyClock(given.clock), wall: given.clock });
  const settings: Settings = {
    ...controlSettings(deps.config),
    hasPreviews: (sandbox) => hasPreviews(deps.providers, sandbox),
  };
  requirePoolHost(settings, deps.providers);
  const parts = workingParts(deps);
  const background = backgroundWork(deps, settings, parts);
  const deadlineSet = () => background.reaper.wake();
  const all = { ...deps, ...parts, ...background, settings, deadlineSet, ...limitDeps(deps, settings) };
  const queue = spawnQueue(all);
  const spawner = new Spawner({ ...all, queue });
  const feed = new EventFeed({ ...deps, since: (after, limit) => deps.store.events.since(after, limit) });
  const events = eventViews({ ...all, events: deps.store.events, feed });
  const instruments = new Instruments({ ...all, metrics, queue, readers: events.readers });
  const work = new Background(all);
  return {
    sandboxes: sandboxes({ ...all, spawner, queue }),
    exec: execs(all),
    ...{ logs: logs(all), previews: previews(all) },
    files: files(all),
    templates: templates({ ...all, spawner, templateChanged: () => background.prewarm.changed() }),
    quotas: quotaViews({ ...all, quotaChanged: (owner_id) => queue.quotaChanged(owner_id) }),
    providers: providerViews({ ...all, config: deps.config.providers }),
    events,
    metrics: metricViews({ ...all, metrics, instruments }),
    snapshots: snapshotViews(deps),
    pool: poolViews({ settings, pool: deps.store.pool }),
    workers: all.fleet.registry(() => queue.limitsChanged()),
    health: healthViews(all),
    rates: background.rates,
    audit: background.audit,
    ledger: deps.ledger,
    start: () => work.start(),
    reload: () => reload({ ...all, queue }),
    drain: () => queue.close(),
    stop: () => {
      queue.close();
      feed.close();
      return work.stop();
    },
  };
}

function reload({
  settings,
  config,
  rates,
  queue,
}: {
  settings: Settings;
  config: Config;
  rates: BucketRateLimits;
  queue: SpawnQueue;
}): void {
  takeDefaults(settings, config);
  rates.reload();
  queue.limitsChanged();
}

/** What requests are judged by. */
function limitDeps({ host, store }: ControlDeps, settings: Settings) {
  const { enforce_owner, defaultProvider } = settings;
  const { quotas } = store;
  const limitsOf = ownerLimits(quotas, settings.ownerLimits);
  return { enforce_owner, defaultProvider, cpus: host.cpus, quotas, limitsOf };
}

/** Told of every end of a sandbox, and of a VM of the pool: a place is free. */
function spawnQueue({
  publisher,
  vms,
  clock,
  settings,
}: {
  publisher: Publisher;
  vms: Vms;
  clock: Clock;
  settings: Settings;
}): SpawnQueue {
  const queue = new SpawnQueue({ publisher, clock }, settings.queue);
  publisher.onEnd(({ owner_id, data }) => {
    // With `auto`, who waits for one provider may go to another worker's of another kind.
    if (data?.worker_id !== LOCAL_WORKER && settings.defaultProvider === 'auto') queue.limitsChanged();
    queue.freed({
      ...(owner_id !== undefined && { owner_id }),
      ...(typeof data?.provider === 'string' && { provider: data.provider }),
    });
  });
  vms.onEnd((provider) => queue.freed({ provider }));
  return queue;
}

/** The same parts; what goes through them is counted. */
function metered<D extends ControlDeps & { metrics: Metrics }>(deps: D): D & { meter: Meter } {
  const meter = new Meter(deps);
  deps.bus.subscribe((event) => meter.stored(event));
  const { store, providers } = deps;
  return {
    ...deps,
    meter,
    store: meter.store(store),
    providers: meter.providers(uniqueRuntimes(providers, store)),
  };
}

/** What the stories are made of. */
function workingParts(deps: ControlDeps & { meter: Meter }) {
  const given = { ...deps, sandboxes: deps.store.sandboxes };
  const publisher = new Publisher(deps);
  const fleet = fleetOf(deps);
  const vms = new Vms({ ...given, pool: deps.store.pool });
  const { workers, pool } = deps.store;
  const remote = remoteRuntimes({ workers, fleet, remote: deps.remote, clock: deps.clock });
  const under = runtimes({ ...deps, tenants: tenants({ ...deps, pool, vms }), remote });
  const sessions = new Sessions({ ...deps, attach: under.attach });
  const spawns = new InFlightSpawns();
  const lock = new KeyedLock();
  const destroyer = new Destroyer({ ...given, runtimes: under, publisher, sessions, spawns, lock });
  const liveness = new LivenessChecker({ ...given, runtimes: under, sessions, destroyer, publisher });
  const find = finder(given.sandboxes, deps.config.auth);
  const probes = new Probes({ ...given, publisher });
  const access = new SandboxAccess({ ...given, find, sessions, liveness });
  const retry = (id: string) => destroyer.retry(id);
  const rollback = rollbackSpawn({ ...given, runtimes: under, publisher, retry });
  return {
    ...{
      runtimes: under,
      vms,
      publisher,
      sessions,
      spawns,
      lock,
      destroyer,
      liveness,
      find,
      probes,
      access,
      rollback,
      fleet,
    },
    remoteStatus: new RemoteStatus({ ...given, runtimes: under, destroyer }),
    ...{ workerStats: fleet.stats, localWorker: fleet.local },
    sandboxes: given.sandboxes,
    templates: deps.store.templates,
    warm: deps.store.warm,
    idempotency: deps.store.idempotency,
  };
}

/** What happens without being asked. */
function backgroundWork(
  deps: ControlDeps & { clock: SteadyClock; wall: Clock },
  settings: Settings,
  parts: ReturnType<typeof workingParts>,
) {
  const limitsOf = ownerLimits(deps.store.quotas, settings.ownerLimits);
  const all = { ...deps, ...parts, ...settings, settings, limitsOf, cpus: deps.host.cpus };
  const reconciler = new Reconciler(all);
  const reaper = new Reaper(all);
  return {
    reaper,
    clockWatch: new ClockWatch({ ...all, deadlineSet: () => reaper.wake() }),
    reconciler,
    runtimeWatch: new RuntimeWatch({ ...all, reconciler }),
    housekeeping: new Housekeeping(all),
    leaseMonitor: new LeaseMonitor(all),
    prewarm: new Prewarm(all),
    rates: new BucketRateLimits({ ...deps, config: deps.config.rate_limit }),
    audit: new AuditTrail({ ...deps, audit: deps.store.audit }),
  };
}
