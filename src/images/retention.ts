// Removes pulled images that nobody uses: in the background after images.retention, and where the store has no room for a pull.
import { ServiceError } from '../domain/errors.ts';
import type { Logger } from '../domain/ports.ts';
import { pruneStored, type StoreDeps } from './image-store.ts';
import { NO_ROOM } from './store-records.ts';

const EVERY_MS = 3_600_000;
/** Images that were just pulled are about to be used. */
const RECENT_MS = 60_000;

/** Prunes every hour until `signal` aborts. Never rejects. */
export async function keepPruned(
  store: StoreDeps,
  { retentionMs, logger }: { retentionMs: number; logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { names } = await pruneStored(store, {
        unusedForMs: retentionMs,
        dryRun: false,
        pulledOnly: true,
      });
      if (names.length > 0)
        logger.info({ images: names }, 'Removed images that were not used for a long time.');
    } catch (err) {
      logger.warn({ err }, 'Could not prune the image store; retrying in an hour.');
    }
    await store.clock.sleep(EVERY_MS, signal).catch(() => undefined);
  }
}

/** Runs `work` again after removing unused pulled images, if the store had no room for it. */
export async function withRoom<T>(store: StoreDeps, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.details?.reason !== NO_ROOM) throw error;
    const { names } = await pruneStored(store, { unusedForMs: RECENT_MS, dryRun: false, pulledOnly: true });
    if (names.length === 0) throw error;
    return work();
  }
}
