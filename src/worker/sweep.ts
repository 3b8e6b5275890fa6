// Compares what the providers of this host run under our label with what this worker was given. At the start it finds what
// a killed worker left; later what went away or was left behind by a failure.
import type { Provider, RuntimeListing } from '../providers/provider.ts';
import { endRuntime } from './ending.ts';
import { unaborted, type WorkerParts } from './worker-parts.ts';

/** Between two findings that a runtime is gone. */
const AGAIN_MS = 1000;

/**
 * Ends runtimes that nobody was given or that are over, and forgets sandboxes that have none. A provider that cannot list
 * is left for the next time; its sandboxes are held as the journal says. Never rejects.
 */
export async function sweep(parts: WorkerParts): Promise<void> {
  await Promise.all(parts.providers.all.map((provider) => sweepProvider(parts, provider)));
}

async function sweepProvider(parts: WorkerParts, provider: Provider): Promise<void> {
  // Before the list is asked for: what is started meanwhile is no missing one.
  const expected = parts.held.living().filter(({ record }) => record.provider === provider.kind);
  try {
    const listed = await provider.list(unaborted());
    for (const runtime of listed)
      await alone(parts, runtime.id, () => sweepRuntime(parts, provider, runtime));
    for (const { record } of expected)
      if (!listed.some(({ id, epoch }) => id === record.sandbox_id && epoch === record.epoch))
        await alone(parts, record.sandbox_id, () => sweepMissing(parts, provider, record.sandbox_id));
  } catch (err) {
    // One that holds nothing here may be one that this host does not have; heartbeats say which are healthy.
    parts.logger[expected.length > 0 ? 'warn' : 'debug'](
      { provider: provider.kind, err },
      'The runtimes of a provider could not be looked through.',
    );
  }
}

/** One that fails is left for the next time, and keeps none behind it. */
async function alone({ logger }: WorkerParts, sandbox_id: string, work: () => Promise<void>): Promise<void> {
  await work().catch((err: unknown) =>
    logger.warn({ sandbox_id, err }, 'A runtime could not be looked at; it is tried again.'),
  );
}

async function sweepRuntime(parts: WorkerParts, provider: Provider, runtime: RuntimeListing): Promise<void> {
  const { held, logger } = parts;
  await held.lock.run(runtime.id, async () => {
    const known = held.find(runtime.id)?.record;
    const isOurs = known?.provider === provider.kind && known.epoch === runtime.epoch;
    if (isOurs && known.state === 'running') return;
    // A start or an end that a killed worker did not finish; nobody else is under the lock.
    const own = isOurs && known.state !== 'ended' ? held.find(runtime.id) : undefined;
    if (own) return endRuntime(parts, own, 'it was left behind');
    await provider.destroy(runtime, unaborted());
    logger.warn({ sandbox_id: runtime.id, epoch: runtime.epoch }, 'A runtime without a lease was removed.');
  });
}

/** Found gone once, it is looked for again a second later: only then it is lost. */
async function sweepMissing(parts: WorkerParts, provider: Provider, id: string): Promise<void> {
  if (!(await isGone(parts, provider, id))) return;
  parts.clock.after(AGAIN_MS, () => void alone(parts, id, () => sweepLost(parts, provider, id)));
}

async function sweepLost(parts: WorkerParts, provider: Provider, id: string): Promise<void> {
  const { held, logger } = parts;
  await held.lock.run(id, async () => {
    if (!(await isGone(parts, provider, id))) return;
    await held.note(id, { state: 'ended' });
    logger.warn({ sandbox_id: id }, 'A sandbox has lost its runtime.');
  });
}

async function isGone({ held }: WorkerParts, provider: Provider, id: string): Promise<boolean> {
  const record = held.find(id)?.record;
  if (!record || record.state === 'ended') return false;
  const ref = { runtime_id: record.made?.runtime_id, id, epoch: record.epoch };
  return (await provider.inspect(ref, unaborted())) === 'gone';
}
