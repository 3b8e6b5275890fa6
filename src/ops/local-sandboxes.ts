// `svc sandbox list --local` and `svc sandbox clean --local`: what is left on this machine while no server runs. Both hold
// the lock of the database, so they never touch what belongs to a running server.
import { resolve } from 'node:path';
import { asServiceError, ServiceError } from '../domain/errors.ts';
import { isLocal } from '../domain/local-kinds.ts';
import type { Clock } from '../domain/ports.ts';
import type { Provider, ProviderSet, RuntimeListing } from '../providers/provider.ts';
import type { CleanReport, LocalReport, LocalSandbox } from '../schema/local-sandbox.ts';
import type { KnownRuntimes } from '../store/offline-records.ts';
import { acquireLock } from '../store/sqlite/lock.ts';
import { readKnownRuntimes } from '../store/sqlite/offline-reads.ts';

export interface LocalDeps {
  database: string;
  clock: Clock;
  openProviders(instance: KnownRuntimes['instance']): Promise<ProviderSet>;
}

export interface CleanOptions {
  /** Only those whose time is over. */
  expired: boolean;
  /** End them; otherwise only list them. */
  confirmed: boolean;
}

/** Throws `conflict` while a server uses the database, `not_found` without one. */
export function listLocal(deps: LocalDeps, signal: AbortSignal): Promise<LocalReport> {
  return withRuntimes(deps, signal, async (report) => report);
}

/**
 * Ends what is left. A next server records the end of each: `expired` when its time was over, otherwise `runtime_lost`.
 * Throws as `listLocal`.
 */
export function cleanLocal(
  deps: LocalDeps,
  options: CleanOptions,
  signal: AbortSignal,
): Promise<CleanReport> {
  return withRuntimes(deps, signal, async ({ sandboxes, notes }, destroy) => {
    const now = new Date(deps.clock.now()).toISOString();
    const chosen = sandboxes.filter(({ expires_at }) => !options.expired || isOver(expires_at, now));
    const report: CleanReport = {
      sandboxes: chosen,
      notes,
      confirmed: options.confirmed,
      ended: [],
      failed: [],
    };
    for (const one of options.confirmed ? chosen : [])
      await destroy(one).then(
        () => report.ended.push(one.id),
        (error: unknown) => {
          report.failed.push(one.id);
          report.notes.push(`${one.id}: ${asServiceError(error).message}`);
        },
      );
    return report;
  });
}

const isOver = (end: string | undefined, now: string) => end !== undefined && end <= now;

type Destroy = (one: LocalSandbox) => Promise<void>;

async function withRuntimes<T>(
  { database, clock, openProviders }: LocalDeps,
  signal: AbortSignal,
  work: (report: LocalReport, destroy: Destroy) => Promise<T>,
): Promise<T> {
  const path = resolve(database);
  const known = readKnownRuntimes(path);
  if (!known) throw unused(path);
  const lock = acquireLock(path, new Date(clock.now()).toISOString());
  try {
    await lock.holdFile();
    const providers = await openProviders(known.instance);
    try {
      const epochs = new Map<LocalSandbox, number>();
      const report = await read(providers, known, epochs, signal);
      const destroy: Destroy = (one) =>
        providers
          .get(one.provider)
          .destroy({ runtime_id: one.runtime_id, id: one.id, epoch: epochs.get(one) ?? 0 }, signal);
      return await work(report, destroy);
    } finally {
      await providers.close();
    }
  } finally {
    lock.release();
  }
}

async function read(
  providers: ProviderSet,
  known: KnownRuntimes,
  epochs: Map<LocalSandbox, number>,
  signal: AbortSignal,
): Promise<LocalReport> {
  const report: LocalReport = { sandboxes: [], notes: [] };
  for (const provider of providers.all.filter(({ kind }) => isLocal(kind))) {
    try {
      for (const runtime of await provider.list(signal)) {
        const shown = shownAs(provider, runtime, known);
        epochs.set(shown, runtime.epoch);
        report.sandboxes.push(shown);
      }
    } catch (error) {
      signal.throwIfAborted();
      report.notes.push(`${provider.kind}: ${asServiceError(error).message}`);
    }
  }
  return report;
}

function shownAs(
  { kind }: Provider,
  { id, epoch, runtime_id, state, created_at }: RuntimeListing,
  { instance, names, expires_at }: KnownRuntimes,
): LocalSandbox {
  const name = `${id}.${epoch}`;
  const end = expires_at.get(name);
  const recorded = names.has(name);
  const facts = { id, provider: kind, runtime_id, instance: instance.id, state, recorded, created_at };
  return end === undefined ? facts : { ...facts, expires_at: end };
}

function unused(file: string): ServiceError {
  return new ServiceError('not_found', 'No server has used this database.', {
    remedy: 'Set database.path, or name the configuration of the server with --config.',
    details: { file },
  });
}
