// Compares the runtimes of this host's providers with the sandboxes of this worker. At the start it finds what a killed
// worker left; later it finds lost runtimes and leftovers of failures.
import type { Provider, RuntimeListing } from '../providers/provider.ts';
import { endRuntime } from './ending.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';

/** The delay between the two checks that confirm a missing runtime. */
const AGAIN_MS = 1000;

/**
 * Ends runtimes without a sandbox and forgets sandboxes without a runtime. A provider that cannot list is retried at
 * the next sweep; until then the journal counts. Never rejects.
 */
export async function sweep(parts: WorkerParts): Promise<void> {
  await Promise.all(parts.providers.all.map((provider) => sweepProvider(parts, provider)));
}

async function sweepProvider(parts: WorkerParts, provider: Provider): Promise<void> {
  // Read before the list, so that a sandbox that starts meanwhile does not count as missing.
  const expected = parts.sandboxes.living().filter(({ record }) => record.provider === provider.kind);
  try {
    const listed = await provider.list(unaborted());
    for (const runtime of listed)
      await alone(parts, runtime.id, () => sweepRuntime(parts, provider, runtime));
    for (const { record } of expected)
      if (!listed.some(({ id, epoch }) => id === record.sandbox_id && epoch === record.epoch))
        await alone(parts, record.sandbox_id, () => sweepMissing(parts, provider, record.sandbox_id));
  } catch (err) {
    // A provider without sandboxes may be unavailable on this host; heartbeats report which ones are healthy.
    parts.logger[expected.length > 0 ? 'warn' : 'debug'](
      { provider: provider.kind, err },
      'Could not list the runtimes of a provider; retrying later.',
    );
  }
}

/** A failure does not delay the others and is retried at the next sweep. */
async function alone({ logger }: WorkerParts, sandbox_id: string, work: () => Promise<void>): Promise<void> {
  await work().catch((err: unknown) =>
    logger.warn({ sandbox_id, err }, 'Could not check a runtime; retrying.'),
  );
}

async function sweepRuntime(parts: WorkerParts, provider: Provider, runtime: RuntimeListing): Promise<void> {
  const { sandboxes: held, logger } = parts;
  await held.lock.run(runtime.id, async () => {
    const known = held.find(runtime.id)?.record;
    const isOurs = known?.provider === provider.kind && known.epoch === runtime.epoch;
    if (isOurs && known.state === 'running') return;
    // A start or end that a killed worker did not finish; nobody else holds the lock.
    const own = isOurs && known.state !== 'ended' ? held.find(runtime.id) : undefined;
    if (own) return endRuntime(parts, own, 'it was left behind');
    await provider.destroy(runtime, unaborted());
    logger.warn({ sandbox_id: runtime.id, epoch: runtime.epoch }, 'Removed a runtime without a lease.');
  });
}

/** Checks a missing runtime again after a second before it counts as lost. */
async function sweepMissing(parts: WorkerParts, provider: Provider, id: string): Promise<void> {
  if (!(await isMissing(parts, provider, id))) return;
  parts.clock.after(AGAIN_MS, () => void alone(parts, id, () => sweepLost(parts, provider, id)));
}

async function sweepLost(parts: WorkerParts, provider: Provider, id: string): Promise<void> {
  const { sandboxes: held, logger } = parts;
  await held.lock.run(id, async () => {
    if (!(await isMissing(parts, provider, id))) return;
    await held.note(id, { state: 'ended' });
    logger.warn({ sandbox_id: id }, 'The runtime of a sandbox is missing; marking the sandbox as ended.');
  });
}

async function isMissing({ sandboxes: held }: WorkerParts, provider: Provider, id: string): Promise<boolean> {
  const record = held.find(id)?.record;
  if (!record || record.state === 'ended') return false;
  const ref = { runtime_id: record.made?.runtime_id, id, epoch: record.epoch };
  return (await provider.inspect(ref, unaborted())) === 'gone';
}
