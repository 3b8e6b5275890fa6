// Checks often whether the database works; a check waits for a slow disk at most SLOW_COMMIT_MS.
import type { Clock } from '../../domain/ports.ts';
import { type CommitSpeed, SLOW_COMMIT_MS } from '../store.ts';
import type { Lane } from './lane.ts';
import type { LaneName } from './wire.ts';

export interface PingDeps {
  clock: Clock;
  lanes: Record<LaneName, Lane>;
  /** A read on the caller's thread. */
  alive(): Promise<void>;
}

/** The newest commit shows the speed of the disk, so after a slow one the check is a write. */
export function createPing({ clock, lanes, alive }: PingDeps): () => Promise<CommitSpeed> {
  let asked: Promise<unknown> | undefined;
  const ask = () => {
    const isDoubtful = lanes.durable.slownessMs >= SLOW_COMMIT_MS;
    const call = { part: 'database', method: 'probe', args: [isDoubtful] } as const;
    asked ??= (isDoubtful ? lanes.durable : lanes.read).call(call).finally(() => {
      asked = undefined;
    });
    return asked;
  };
  return async () => {
    await alive();
    const enough = new AbortController();
    const patience = clock.sleep(SLOW_COMMIT_MS, enough.signal).catch(() => undefined);
    try {
      await Promise.race([ask(), patience]);
    } finally {
      enough.abort();
    }
    return { commit_ms: lanes.durable.slownessMs };
  };
}
