// Attaches that are held leave control calls alone: on a real engine, 200 open streams through the very object that asks.
// They count only as long as the engine keeps them, which it does with standard input among them.
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { type Engine, openEngine } from '../../src/providers/container/engine.ts';
import { containerConfig, containerHome, containerSpec } from '../support/container.ts';
import { describeWith } from '../support/requires.ts';
import { sharedEngine } from '../support/shared-engine.ts';
import { freshId, soon } from '../support/userspace.ts';

const [ATTACHES, CALLS, BOUND_MS] = [200, 31, 100];
const STREAMS = { stream: 1, stdin: 1, stdout: 1, stderr: 1 };

describeWith(['root', 'docker'], `${ATTACHES} attaches that are held`, () => {
  it('leave control calls as quick as they were', { timeout: 180_000 }, async () => {
    const { socket } = await sharedEngine();
    const provider = containerHome(socket).provider();
    const ref = { id: freshId(), epoch: 1 };
    const { runtime_id } = await provider.create(containerSpec(ref.id), soon());
    const engine = openEngine({ config: { ...containerConfig(), socket }, clock: realClock() });
    const held: Socket[] = [];
    try {
      const quiet = await medianOf(() => look(engine, runtime_id));
      held.push(...(await Promise.all(Array.from({ length: ATTACHES }, () => hold(engine, runtime_id)))));
      // A machine that is busy with other things is as slow without attaches.
      expect(await medianOf(() => look(engine, runtime_id))).toBeLessThan(Math.max(BOUND_MS, 3 * quiet));
      expect(held.filter(({ destroyed }) => destroyed)).toHaveLength(0);
    } finally {
      for (const each of held) each.destroy();
      engine.close();
      await provider.destroy(ref, soon());
      await provider.close();
    }
  });
});

function look(engine: Engine, runtime: string): Promise<unknown> {
  return engine.json({ method: 'GET', path: `/containers/${runtime}/json`, what: 'look up' }, soon());
}

/** With a deadline for a machine under load: 200 at once are one queue of the engine. */
function hold(engine: Engine, runtime: string): Promise<Socket> {
  const path = `/containers/${runtime}/attach`;
  const order = { method: 'POST', path, query: STREAMS, what: 'attach', ms: 60_000 } as const;
  return engine.upgrade(order, AbortSignal.timeout(60_000));
}

/** Of calls one after another, in ms. */
async function medianOf(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < CALLS; n++) {
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[Math.floor(CALLS / 2)] ?? 0;
}
