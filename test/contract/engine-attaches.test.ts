// Attaches that are held leave control calls alone: on a real engine, 200 open streams through the very object that asks.
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { openEngine } from '../../src/providers/container/engine.ts';
import { containerConfig, containerHome, containerSpec } from '../support/container.ts';
import { describeWith } from '../support/requires.ts';
import { sharedEngine } from '../support/shared-engine.ts';
import { freshId, soon } from '../support/userspace.ts';

const [ATTACHES, CALLS, BOUND_MS] = [200, 31, 100];

describeWith(['root', 'docker'], `${ATTACHES} attaches that are held`, () => {
  it('leave control calls as quick as they were', async () => {
    const { socket } = await sharedEngine();
    const provider = containerHome(socket).provider();
    const ref = { id: freshId(), epoch: 1 };
    const { runtime_id } = await provider.create(containerSpec(ref.id), soon());
    const engine = openEngine({ config: { ...containerConfig(), socket }, clock: realClock() });
    const path = `/containers/${runtime_id}`;
    const look = () => engine.json({ method: 'GET', path: `${path}/json`, what: 'look up' }, soon());
    const hold = () =>
      engine.upgrade({ method: 'POST', path: `${path}/attach?stream=1&stdout=1`, what: 'attach' }, soon());
    const held: Socket[] = [];
    try {
      const quiet = await median(look);
      held.push(...(await Promise.all(Array.from({ length: ATTACHES }, hold))));
      // A machine that is busy with other things is as slow without attaches.
      expect(await median(look)).toBeLessThan(Math.max(BOUND_MS, 3 * quiet));
      expect(held.filter(({ destroyed }) => destroyed)).toEqual([]);
    } finally {
      for (const each of held) each.destroy();
      engine.close();
      await provider.destroy(ref, soon());
      await provider.close();
    }
  });
});

/** Of calls one after another, in ms. */
async function median(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < CALLS; n++) {
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[Math.floor(CALLS / 2)] ?? 0;
}
