// Liveness, readiness and health (docs/design/api.md#health-and-metrics). Without a key (`full` false) they show status
// words only.
import { configWarnings } from '../../domain/config-warnings.ts';
import { displayDuration } from '../../domain/duration.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import type { Clock } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { Config } from '../../schema/config.ts';
import type { ReplicasView } from '../../schema/diagnostics.ts';
import type { Health } from '../../schema/system.ts';
import { type CommitSpeed, SLOW_COMMIT_MS, type Store } from '../../store/store.ts';
import type { HealthViews } from '../api/system.ts';
import type { Probes } from '../runtime/probes.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { Fleet } from '../workers/fleet.ts';
import type { WorkerStats } from '../workers/worker-stats.ts';

/** A probe that takes longer counts as failed. */
const PROBE_MS = 2000;

type Check = Health['checks']['database'];
type Outcome = Pick<Check, 'status' | 'message'>;

const MOST_WARNINGS = 32;

export interface HealthDeps {
  store: Pick<Store, 'ping' | 'pool' | 'condition'>;
  providers: ProviderSet;
  probes: Probes;
  clock: Clock;
  timekeeper: { warnings(): string[] };
  version: string;
  workerStats: WorkerStats;
  fleet: Pick<Fleet, 'accepting'>;
  replicas: Pick<Replicas, 'view'>;
  config: LiveConfig<Pick<Config, 'auth' | 'pool'>>;
  host: { kernel?: string };
  settings: { defaultProvider: string };
}

export function healthViews(deps: HealthDeps): HealthViews {
  const began = deps.clock.monotonic();
  const uptimeMs = () => deps.clock.monotonic() - began;
  const about = () => ({ version: deps.version, uptime: displayDuration(uptimeMs()) });
  return {
    live: (full) => ({ status: 'alive', ...(full && about()) }),
    ready: async (full) => {
      const each = await healthOfEach(deps);
      const providers = each.map(({ provider: { kind }, healthy }) => ({ name: kind, healthy }));
      const ready_providers = providers.filter(({ healthy }) => healthy).length;
      const facts = full ? { providers, ready_providers, total_providers: providers.length } : {};
      const { damage } = deps.store.condition();
      if (damage) return { status: 'not_ready', reason: full ? inFull(damage) : damage.message, ...facts };
      const accepting = await acceptingWorkers(deps);
      if (accepting === undefined)
        return { status: 'not_ready', reason: 'The database does not answer.', ...facts };
      if (ready_providers > 0 || accepting > 0) return { status: 'ready', ...facts };
      return {
        status: 'not_ready',
        reason: 'No provider is healthy, and no worker accepts sandboxes.',
        ...facts,
      };
    },
    health: async (full) => {
      const replicas = deps.replicas.view();
      const [database, providers, workers] = await Promise.all([
        timed(deps, databaseCheck),
        timed(deps, providerCheck),
        timed(deps, workerCheck),
      ]);
      const shared = replicas && { replicas: await timed(deps, async () => replicaCheck(replicas)) };
      const checks = { database, providers, workers, ...shared };
      const isWell = Object.values(checks).every((check) => check.status === 'ok');
      const status = isWell ? 'ok' : 'degraded';
      if (!full) {
        const words = { database: word(database), providers: word(providers), workers: word(workers) };
        return { status, checks: words };
      }
      const warnings = await warningsOf(deps);
      const uptime_seconds = Math.floor(uptimeMs() / 1000);
      return { status, ...about(), uptime_seconds, checks, ...(warnings.length > 0 && { warnings }) };
    },
  };
}

/** The warnings of the configuration, of the clocks, and of the VMs of a pool, which only their kernel knows. */
async function warningsOf({ config, host, store, timekeeper }: HealthDeps): Promise<string[]> {
  const given = [...configWarnings(config.current(), host.kernel ?? ''), ...timekeeper.warnings()];
  if (!config.current().pool.enabled) return given;
  // The database check reports a database that does not answer.
  const vms = await store.pool.all().catch(() => []);
  return [...new Set([...given, ...vms.flatMap(({ warnings }) => warnings)])].slice(0, MOST_WARNINGS);
}

async function timed(deps: HealthDeps, check: (deps: HealthDeps) => Promise<Outcome>): Promise<Check> {
  const began = deps.clock.monotonic();
  const { status, ...rest } = await check(deps);
  return { status, latency_ms: Math.round((deps.clock.monotonic() - began) * 10) / 10, ...rest };
}

const word = ({ status }: Check): Check => ({ status });

type ProviderHealth = Awaited<ReturnType<typeof healthOfEach>>[number];

function healthOfEach({ providers, probes }: HealthDeps) {
  return Promise.all(
    providers.all.map(async (provider) => {
      const { report } = await probes.readWithin(provider, PROBE_MS);
      return { provider, healthy: report.healthy };
    }),
  );
}

/**
 * A provider that was never healthy counts as not installed: a host without a container engine is healthy. A provider
 * that has worked, or that is the default, is missed.
 */
function isMissed({ probes, settings }: HealthDeps, { provider, healthy }: ProviderHealth): boolean {
  return !healthy && (provider.kind === settings.defaultProvider || probes.wasHealthy(provider));
}

/** The number of other workers that accept sandboxes; undefined if the database does not answer in time. */
function acceptingWorkers({ fleet, clock }: HealthDeps): Promise<number | undefined> {
  const reading = fleet.accepting().catch(() => undefined);
  return orAfter(clock, PROBE_MS, reading, () => undefined);
}

async function databaseCheck({ store }: HealthDeps): Promise<Outcome> {
  const pulse = await store.ping().catch(asServiceError);
  const { damage, loss, isChecking } = store.condition();
  const failure = pulse instanceof ServiceError ? pulse : damage;
  if (failure) return { status: 'failed', message: inFull(failure) };
  if (loss) return { status: 'degraded', message: inFull(loss) };
  const { commit_ms } = pulse as CommitSpeed;
  if (commit_ms >= SLOW_COMMIT_MS) return { status: 'degraded', message: slow(commit_ms) };
  return { status: 'ok', ...(isChecking && { message: 'All pages are being checked.' }) };
}

const slow = (ms: number) =>
  `The database is slow: its last commit took ${(ms / 1000).toFixed(1)} s. Look at the disk that holds it.`;

const inFull = ({ message, remedy }: ServiceError) => (remedy ? `${message} ${remedy}` : message);

/** Workers without a recent heartbeat; a worker that signed off does not count. */
async function workerCheck({ workerStats }: HealthDeps): Promise<Outcome> {
  const stats = await workerStats().catch(() => undefined);
  if (!stats) return { status: 'failed', message: 'The workers cannot be read.' };
  const { stale } = stats.workers;
  if (stale === 0) return { status: 'ok' };
  return { status: 'degraded', message: `Workers without a recent heartbeat: ${stale}.` };
}

/** Servers that share the database must agree on most settings. */
function replicaCheck({ live }: ReplicasView): Outcome {
  const others = live.filter(({ same_configuration }) => !same_configuration);
  if (others.length === 0)
    return { status: 'ok', message: `Servers that share the database: ${live.length}.` };
  const names = others.map(({ id, url }) => `${id} (${url})`).join(', ');
  return {
    status: 'degraded',
    message: `The configuration of these servers differs from this one: ${names}.`,
  };
}

async function providerCheck(deps: HealthDeps): Promise<Outcome> {
  const all = await healthOfEach(deps);
  if (all.length === 0) return othersCheck((await acceptingWorkers(deps)) ?? 0);
  const ill = all.filter(({ healthy }) => !healthy).map(({ provider: { kind } }) => kind);
  const isUseful = ill.length < all.length;
  const missed = all.filter((each) => isMissed(deps, each));
  const message = `Not healthy: ${ill.join(', ')}.`;
  if (isUseful && missed.length === 0) return { status: 'ok', ...(ill.length > 0 && { message }) };
  return { status: isUseful ? 'degraded' : 'failed', message };
}

/** The check of a server that runs no sandboxes itself. */
const othersCheck = (accepting: number): Outcome =>
  accepting > 0
    ? { status: 'ok' }
    : { status: 'failed', message: 'This server has no provider, and no worker accepts sandboxes.' };
