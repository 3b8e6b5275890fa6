// The lower half of the control plane: store and providers with metrics around them, and what sandboxes run on.

import { Sessions } from '../agent/sessions.ts';
import type { ByteLedger } from '../domain/byte-ledger.ts';
import { ServiceError } from '../domain/errors.ts';
import type { LiveConfig } from '../domain/live-config.ts';
import type { OwnImages } from '../domain/machine-images.ts';
import type { Boot, Clock, Ids, Logger, Random } from '../domain/ports.ts';
import type { PullReports } from '../domain/pull-report.ts';
import { replicaUrl } from '../domain/replica-url.ts';
import type { Seal } from '../domain/seal.ts';
import { type SteadyClock, steadyClock } from '../domain/steady-clock.ts';
import type { Egress, EgressDeps } from '../egress/egress.ts';
import type { EventWriter } from '../events/batch-writer.ts';
import type { EventBus } from '../events/bus.ts';
import type { ProviderSet, RemoteProviders } from '../providers/provider.ts';
import type { Config } from '../schema/config.ts';
import type { Store } from '../store/store.ts';
import { hasPreviews } from './access/previews.ts';
import { SandboxAccess } from './access/session-access.ts';
import { Reaper } from './maintenance/reaper.ts';
import { Meter } from './metrics/meter.ts';
import { Metrics } from './metrics/metrics.ts';
import { reportPulls } from './metrics/pull-reports.ts';
import { tenants } from './pool/tenants.ts';
import { Vms } from './pool/vms.ts';
import { ExecLog } from './records/exec-log.ts';
import { finder } from './records/find.ts';
import { Publisher } from './records/publish.ts';
import { controlSettings, ownerLimits } from './records/settings.ts';
import { AgentDeadlines } from './runtime/agent-deadlines.ts';
import { Authorities } from './runtime/authorities.ts';
import { configPrint } from './runtime/config-print.ts';
import { Credentials } from './runtime/credentials.ts';
import { Destroyer } from './runtime/destroy.ts';
import { EgressGates } from './runtime/egress-gates.ts';
import { InFlightSpawns } from './runtime/in-flight-spawns.ts';
import { LivenessChecker } from './runtime/liveness.ts';
import { OpenOutcomes } from './runtime/open-outcomes.ts';
import { Probes } from './runtime/probes.ts';
import type { OpenEgressLink } from './runtime/remote-gate.ts';
import { Replicas } from './runtime/replicas.ts';
import { Roles } from './runtime/roles.ts';
import { rollbackSpawn } from './runtime/rollback.ts';
import { type Runtimes, runtimes as runtimesOf, type Runtime as SandboxRuntime } from './runtime/runtimes.ts';
import { uniqueRuntimes } from './runtime/unique-runtimes.ts';
import { requirePoolHost } from './spawn/choose.ts';
import { Guests } from './usage/guests.ts';
import { Ledger } from './usage/ledger.ts';
import { Sampler } from './usage/sampler.ts';
import { UsageTotals } from './usage/totals.ts';
import { usageViews } from './usage/views.ts';
import { fleetOf } from './workers/fleet.ts';
import { remoteRuntimes } from './workers/remote-runtimes.ts';
import { RemoteStatus } from './workers/remote-status.ts';

export interface ControlDeps {
  config: LiveConfig;
  store: Store;
  providers: ProviderSet;
  /** Delivers state changes after their commit. */
  bus: EventBus;
  /** Writes the events that no state change waits for. */
  writer: EventWriter;
  /** The clock of the machine. */
  clock: Clock;
  /** The clock of the control plane, where others use it, too; one of its own unless given. */
  steady?: SteadyClock;
  boot: Boot;
  ids: Ids;
  random: Random;
  logger: Logger;
  version: string;
  /** Accounts for all bytes kept for callers. */
  ledger: ByteLedger;
  /** Where numbers are kept; a fresh one unless given. */
  metrics?: Metrics;
  /** The newest log lines, redacted, for diagnostics. */
  recentLogs?: (() => Record<string, unknown>[]) | undefined;
  /** Pulls of images by this process; absent where it pulls none. */
  pulls?: PullReports | undefined;
  /** The image store of this machine; absent where no provider runs its images. */
  images?: OwnImages | undefined;
  /** Opens the gates of sandboxes with an egress policy; absent: nothing can be dialed. */
  openEgress?: ((hooks: Pick<EgressDeps, 'clock' | 'random' | 'onEvent'>) => Egress) | undefined;
  /** The key for secrets in the store; rejects with `not_implemented` where there is none. */
  seal?: (() => Promise<Seal>) | undefined;
  /** Masks a text in all output from now on, until the returned function is called. */
  conceal?: ((secret: string) => () => void) | undefined;
  /** Calls other workers; absent: there are none. */
  remote?: RemoteProviders | undefined;
  host: { cpus: number; memoryMb?: number; hostname?: string; kernel?: string };
  /** The files of the code interpreter by name; absent: sandboxes have none. */
  interpreter?: (() => Record<string, string>) | undefined;
  /** Masks secrets in what the API shows of the configuration. */
  redact(value: unknown): unknown;
}

export type Foundation = ReturnType<typeof buildFoundation>;
export type Runtime = ReturnType<typeof buildRuntime>;

/** Store and providers with metrics around them, the settings, and what only reads and publishes records. */
export function buildFoundation(deps: ControlDeps) {
  const { config, bus, writer, metrics = new Metrics() } = deps;
  const clock = deps.steady ?? steadyClock(deps.clock);
  const meter = new Meter({ metrics, clock });
  bus.subscribe((event) => meter.stored(event));
  const store = meter.store(deps.store);
  const providers = meter.providers(uniqueRuntimes(deps.providers, deps.store));
  const settings = controlSettings(config);
  requirePoolHost(settings, providers);
  const limitsOf = ownerLimits(store.quotas, settings);
  const publisher = new Publisher({ bus, writer, clock, meter });
  reportPulls({ publisher, metrics }, deps.pulls);
  const find = finder(store.sandboxes, settings);
  const execLog = new ExecLog({ execs: store.execs, clock, logger: deps.logger, redact: deps.redact });
  const replica = deps.ids.replica();
  const { replicas, roles } = replicasOf(deps, { replica, store, clock });
  return {
    replica,
    replicas,
    roles,
    clock,
    metrics,
    store,
    providers,
    settings,
    limitsOf,
    publisher,
    execLog,
    find,
  };
}

/** This process among those that share the store. */
function replicasOf(
  { config, host, version, logger }: ControlDeps,
  { replica: id, store, clock }: { replica: string; store: Store; clock: Clock },
) {
  const { server } = config.current();
  const begun = clock.monotonic();
  const url = replicaUrl(server, host.hostname);
  let print: { of: Config; print: string } | undefined;
  // Each beat contains it, and the settings change only when their file is read.
  const printOf = (of: Config) => {
    if (print?.of !== of) print = { of, print: configPrint(of, store.instance.key) };
    return print.print;
  };
  const self = () => ({
    id,
    url,
    version,
    started_at: new Date(clock.now() - (clock.monotonic() - begun)).toISOString(),
    config_print: printOf(config.current()),
  });
  const roles = new Roles({ store, id, clock, logger });
  const { replicas, signals } = store;
  return { replicas: new Replicas({ replicas, signals, roles, self, id, clock, logger }), roles };
}

/** Measures sandboxes, and writes and shows what they use. */
function usageOf(
  { config, bus, host, logger }: ControlDeps,
  { store, publisher, roles, settings, clock }: Foundation,
  { runtimes, sessions }: { runtimes: Pick<Runtimes, 'usage'>; sessions: Sessions<SandboxRuntime> },
) {
  const { usage: own } = config.current();
  const totals = new UsageTotals(own);
  const sampler = new Sampler({
    sandboxes: store.sandboxes,
    runtimes,
    publisher,
    totals,
    config: own,
    clock,
    logger,
  });
  bus.subscribe((event) => sampler.noted(event));
  const ledger = new Ledger({ usage: store.usage, sampler, publisher, roles, config: own, clock, logger });
  const { sandboxes, usage } = store;
  const guests = new Guests({ sessions, clock });
  const isMeasuring = own.enabled;
  const views = usageViews({ usage, sandboxes, sampler, guests, settings, isMeasuring, host, clock });
  return { totals, sampler, ledger, views };
}

/** What sandboxes run on, and how they are reached and ended. */
export function buildRuntime(deps: ControlDeps, foundation: Foundation) {
  const { config, remote, host, version, logger } = deps;
  const { replica, replicas, roles, clock, store, providers, settings, publisher, find } = foundation;
  const { sandboxes, workers, pool } = store;
  const fleet = fleetOf({ config, store, providers, remote, host, version, clock, logger });
  settings.hasPreviews = (sandbox) =>
    hasPreviews(providers, sandbox, (...asked) => fleet.abilities.has(...asked));
  const vms = new Vms({ pool, providers, clock, logger });
  const { spawnWaitMs } = settings;
  const ofWorkers = remoteRuntimes({ workers, sandboxes, fleet, remote, clock, spawnWaitMs });
  const runtimes = runtimesOf({
    providers,
    clock,
    logger,
    tenants: tenants({ pool, vms, clock }),
    remote: ofWorkers,
  });
  const sessions = new Sessions({ clock, attach: runtimes.attach });
  const { egress, gates, credentials } = egressOf(deps, foundation, sessions, ofWorkers.openLink);
  settings.opensEgress = egress !== undefined;
  const deadlines = new AgentDeadlines({ sessions, clock, logger });
  const spawns = new InFlightSpawns();
  const usage = usageOf(deps, foundation, { runtimes, sessions });
  const destroyer = new Destroyer({
    sandboxes,
    runtimes,
    publisher,
    sessions,
    spawns,
    usage: usage.sampler,
    replica,
    replicas,
    clock,
    logger,
  });
  const liveness = new LivenessChecker({
    sandboxes,
    runtimes,
    sessions,
    destroyer,
    publisher,
    clock,
    logger,
  });
  const retry = (id: string) => destroyer.retry(id);
  const rollback = rollbackSpawn({ sandboxes, runtimes, publisher, replica, replicas, clock, logger, retry });
  const openOutcomes = new OpenOutcomes({
    sandboxes,
    spawns,
    replicas,
    replica,
    destroyer,
    rollback,
    clock,
    logger,
  });
  const access = new SandboxAccess({ sandboxes, find, runtimes, sessions, liveness });
  const probes = new Probes({ providers, publisher, clock, logger });
  const remoteStatus = new RemoteStatus({
    sandboxes,
    runtimes,
    destroyer,
    liveness,
    publisher,
    clock,
    logger,
  });
  const reaper = new Reaper({ sandboxes, destroyer, roles, clock, logger });
  return {
    usage,
    fleet,
    vms,
    runtimes,
    sessions,
    deadlines,
    spawns,
    destroyer,
    liveness,
    rollback,
    openOutcomes,
    access,
    probes,
    remoteStatus,
    reaper,
    egress,
    gates,
    credentials,
  };
}

const noSeal = () =>
  Promise.reject(new ServiceError('not_implemented', 'This server has no key to seal secrets with.'));

/** Outgoing connections of sandboxes, and the gates that keep them open. */
function egressOf(
  { config, openEgress, seal = noSeal, conceal = () => () => undefined, random, logger }: ControlDeps,
  { clock, store, publisher, roles }: Foundation,
  sessions: Sessions<SandboxRuntime>,
  openLink: OpenEgressLink,
) {
  const settings = config.current().egress;
  const egress = openEgress?.({ clock, random, onEvent: (event) => gates.noted(event) });
  const { sandboxes, quotas, secrets, signals } = store;
  const credentials = new Credentials({ secrets, signals, config, seal, conceal, clock, logger });
  const { instance } = store;
  const days = settings.ca_days;
  const authorities = new Authorities({ egress, secrets, seal, instance, days, clock, logger });
  const parts = { sandboxes, quotas, credentials, authorities, conceal, sessions, publisher, clock, logger };
  const gates: EgressGates = new EgressGates({ egress, config: settings, openLink, roles, ...parts });
  return { egress, gates, credentials };
}
