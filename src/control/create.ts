// Puts the control plane together. `app` hands in the parts; nothing here knows which store or providers they are.
import { KeyedLock } from '../domain/keyed-lock.ts';
import { replicaUrl } from '../domain/replica-url.ts';
import { formatTemplateKey, type TemplateKey } from '../domain/template-key.ts';
import { EventFeed } from '../events/feed.ts';
import { egressPolicies } from './access/egress.ts';
import type { ControlPlane } from './api/control-plane.ts';
import {
  buildFoundation,
  buildRuntime,
  type ControlDeps,
  type Foundation,
  type Runtime,
} from './build-runtime.ts';
import { buildSpawning, type Spawning } from './build-spawning.ts';
import { insides } from './exec/insides.ts';
import { buildLogins } from './keys/build-logins.ts';
import { KeyRing } from './keys/key-ring.ts';
import { keyViews } from './keys/keys.ts';
import { Background, type Timekeeper } from './maintenance/background.ts';
import { ClockWatch } from './maintenance/clock-watch.ts';
import { Housekeeping } from './maintenance/housekeeping.ts';
import { Reconciler } from './maintenance/reconcile.ts';
import { RuntimeWatch } from './maintenance/runtime-watch.ts';
import { SharedClock } from './maintenance/shared-clock.ts';
import { stopAll } from './maintenance/stop-all.ts';
import { ImageSizeReader } from './metrics/image-sizes.ts';
import { metricViews } from './metrics/metric-views.ts';
import { reportPull } from './metrics/pull-reports.ts';
import { Instruments } from './metrics/readings.ts';
import { sandboxes as sandboxViews } from './sandboxes/sandboxes.ts';
import { AuditTrail } from './system/audit.ts';
import { credentialViews } from './system/credentials.ts';
import { eventViews } from './system/events.ts';
import { healthViews } from './system/health.ts';
import { imageViews } from './system/images.ts';
import { poolViews, providerViews, snapshotViews } from './system/providers.ts';
import { quotaViews } from './system/quotas.ts';
import { BucketRateLimits } from './system/rate-limits.ts';
import { templates as templateViews } from './templates/templates.ts';
import { LeaseMonitor } from './workers/lease-monitor.ts';

/** Builds the control plane; `start()` begins background work. */
export function createControlPlane(deps: ControlDeps): ControlPlane {
  const foundation = buildFoundation(deps);
  const runtime = buildRuntime(deps, foundation);
  const spawning = buildSpawning(deps, foundation, runtime);
  const background = buildBackground(deps, foundation, runtime, spawning);
  return buildInterface(deps, foundation, runtime, spawning, background);
}

type BackgroundParts = ReturnType<typeof buildBackground>;

/** Work that no request starts: deadlines, reconciliation, retention, leases. */
function buildBackground(deps: ControlDeps, foundation: Foundation, runtime: Runtime, { prewarm }: Spawning) {
  const { config, ids, logger, redact } = deps;
  const { replicas, roles, clock, store, providers, settings, publisher } = foundation;
  const { sandboxes, warm, pool } = store;
  const { fleet, vms, sessions, spawns, destroyer, liveness, rollback, reaper, openOutcomes, usage } =
    runtime;
  const reconciler = new Reconciler({
    sandboxes,
    warm,
    pool,
    vms,
    providers,
    publisher,
    spawns,
    replicas,
    destroyer,
    liveness,
    rollback,
    settings,
    clock,
    logger,
  });
  const rates = new BucketRateLimits({ config, clock, ids });
  const audit = new AuditTrail({ audit: store.audit, clock, logger, redact });
  const keyRing = new KeyRing({ keys: store.keys, sessions: store.sessions, replicas, clock, logger });
  const timekeeper = timekeeperOf(deps, foundation, () => reaper.wake());
  const work = new Background({
    keyRing,
    replicas,
    roles,
    timekeeper,
    reaper,
    openOutcomes,
    reconciler,
    runtimeWatch: new RuntimeWatch({ providers, sandboxes, pool, liveness, reconciler, clock, logger }),
    housekeeping: new Housekeeping({ store, roles, settings, clock, logger }),
    leaseMonitor: new LeaseMonitor({
      fleet,
      store,
      spawns,
      replicas,
      roles,
      destroyer,
      liveness,
      rollback,
      publisher,
      clock,
      logger,
    }),
    localWorker: fleet.local,
    liveness,
    destroyer,
    sessions,
    vms,
    spawns,
    prewarm,
    rates,
    audit,
    usage,
    settings,
    clock,
    logger,
  });
  return { rates, audit, keyRing, work, timekeeper };
}

/** The time of the machine, or that which all processes on the store agree on. */
function timekeeperOf(
  { boot, clock: wall, logger }: ControlDeps,
  { store, clock, roles, replica }: Foundation,
  deadlineSet: () => void,
): Timekeeper {
  const { time } = store;
  if (time) return new SharedClock({ time, clock, boot, roles, replica, logger });
  return new ClockWatch({ store, clock, wall, boot, logger, deadlineSet });
}

/** The interface that the edges call. */
function buildInterface(
  deps: ControlDeps,
  foundation: Foundation,
  {
    access,
    runtimes,
    probes,
    fleet,
    deadlines,
    destroyer,
    remoteStatus,
    reaper,
    egress,
    gates,
    credentials,
    usage,
  }: Runtime,
  { prewarm, queue, spawner }: Spawning,
  { rates, audit, keyRing, work, timekeeper }: BackgroundParts,
): ControlPlane {
  const { config, bus, ids, random, logger, ledger, host, version, redact, recentLogs } = deps;
  const { replicas, clock, metrics, store, providers, settings, publisher, execLog, find } = foundation;
  const { sandboxes, templates, quotas, pool } = store;
  const since = store.events.since.bind(store.events);
  const elsewhere = (wake: () => void) => store.signals.on('events', wake);
  const feed = new EventFeed({ bus, clock, logger, since, elsewhere });
  const events = eventViews({ events: store.events, feed, settings, clock });
  const templateChanged = (name: string) => {
    prewarm.changed();
    store.signals.send('templates', name);
  };
  store.signals.on('templates', (name) => name !== undefined && prewarm.changed());
  const readyNow = async () => {
    const ready = await prewarm.readyNow();
    return (template: TemplateKey) => ready(formatTemplateKey(template));
  };
  const quotaChanged = (owner_id: string) => {
    queue.quotaChanged(owner_id);
    void gates.ownerChanged(owner_id);
  };
  // The settings have registered before it, so waiting spawns meet the new limits.
  config.onChange(() => queue.limitsChanged());
  const instruments = new Instruments({
    store,
    providers,
    probes,
    metrics,
    readers: events.readers,
    queue,
    prewarm,
    rates,
    ledger,
    workerStats: fleet.stats,
    replicas,
    settings,
    clock,
  });
  const { server } = config.current();
  const inside = insides({ ...deps, ...foundation, access, runtimes, server });
  return {
    sandboxes: sandboxViews({
      sandboxes,
      templates,
      providers,
      probes,
      fleet,
      find,
      moves: new KeyedLock(),
      replicas,
      deadlines,
      destroyer,
      remoteStatus,
      queue,
      spawner,
      publisher,
      credentials,
      settings,
      limitsOf: foundation.limitsOf,
      cpus: host.cpus,
      clock,
      logger,
      deadlineSet: () => reaper.wake(),
    }),
    ...inside,
    egress: egressPolicies({ settings, egress, gates, find, sandboxes, credentials, publisher, clock }),
    credentials: credentialViews(credentials),
    templates: templateViews({
      templates,
      credentials,
      spawner,
      settings,
      providers,
      fleet,
      publisher,
      clock,
      templateChanged,
      readyNow,
    }),
    quotas: quotaViews({ quotas, publisher, settings, quotaChanged }),
    usage: usage.views,
    keys: keyViews({ keys: store.keys, ring: keyRing, ids, random, clock }),
    ...buildLogins({ store, ring: keyRing, ids, random, clock, config }, inside.files),
    namedKeys: keyRing,
    providers: providerViews({
      providers,
      probes,
      sandboxes,
      config: config.current().providers,
      redact,
    }),
    events,
    metrics: metricViews({
      metrics,
      instruments,
      shared: store.shared,
      config,
      version,
      redact,
      recentLogs,
      egress: gates,
      usage,
      imageSizes: new ImageSizeReader(deps.images, clock),
    }),
    snapshots: snapshotViews({ providers }),
    images: imageViews({
      images: deps.images,
      workers: store.workers,
      fleet,
      remote: deps.remote,
      settings,
      publisher,
      pulled: (report) => reportPull({ publisher, metrics }, report),
      clock,
    }),
    pool: poolViews({ settings, pool }),
    workers: fleet.registry({
      roomChanged: () => queue.limitsChanged(),
      drained: () => prewarm.changed(),
    }),
    health: healthViews({
      store,
      providers,
      probes,
      clock,
      timekeeper,
      version,
      workerStats: fleet.stats,
      fleet,
      replicas,
      config,
      host,
      settings,
    }),
    rates,
    audit,
    ledger,
    start: async () => {
      queue.start();
      await work.start();
      await gates.start();
    },
    listening: (address) => replicas.reachedAt(replicaUrl(config.current().server, host.hostname, address)),
    drain: () => queue.close(),
    stop: () => stopAll({ queue, feed, gates, work, execLog }),
  };
}
