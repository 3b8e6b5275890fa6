// Prewarmed sandboxes of a server, as its metrics count them.
import type { Client } from '../../src/client/client.ts';
import { until } from './until.ts';

/** Resolves when as many are ready as are wanted, and at least so many. */
export const untilReady = (client: Client, least: number, ms: number): Promise<unknown> =>
  until(
    `${least} are ready`,
    async () => {
      const { ready, starting, wanted } = (await client.system.metrics()).prewarm;
      return ready >= least && ready === wanted && starting === 0;
    },
    ms,
  );
