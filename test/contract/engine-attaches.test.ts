// What is held open leaves control calls alone: on a real engine, 200 attaches and more readers of its news than there
// are kept connections, through the very object that asks. The engine keeps an attach that has standard input.
import type { Duplex, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { type Engine, openEngine } from '../../src/providers/container/engine.ts';
import { containerConfig, containerHome, containerSpec } from '../support/hosts/container.ts';
import { sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';

const [ATTACHES, READERS, CALLS, BOUND_MS] = [200, 70, 31, 100];
const HOLD_MS = 60_000;
const STREAMS = { stream: 1, stdin: 1, stdout: 1, stderr: 1 };

describeWith(['root', 'docker'], `${ATTACHES} attaches and ${READERS} readers of events`, () => {
  it('do not slow control calls', { timeout: 180_000 }, async () => {
    const { socket } = await sharedEngine();
    const provider = containerHome(socket).provider();
    const ref = { id: freshId(), epoch: 1 };
    const { runtime_id } = await provider.create(containerSpec(ref.id), soon());
    const engine = openEngine({ config: { ...containerConfig(), socket }, clock: realClock() });
    const held: (Duplex | Readable)[] = [];
    try {
      const quiet = await medianOf(() => look(engine, runtime_id));
      held.push(...(await times(ATTACHES, () => attach(engine, runtime_id))));
      held.push(...(await times(READERS, () => read(engine))));
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
function attach(engine: Engine, runtime: string): Promise<Duplex> {
  const path = `/containers/${runtime}/attach`;
  const order = { method: 'POST', path, query: STREAMS, what: 'attach', ms: HOLD_MS } as const;
  return engine.upgrade(order, AbortSignal.timeout(HOLD_MS));
}

function read(engine: Engine): Promise<Readable> {
  const order = { method: 'GET', path: '/events', what: 'tell of events', ms: HOLD_MS } as const;
  return engine.stream(order, new AbortController().signal);
}

const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work));

/** Of calls one after another, in ms. */
async function medianOf(call: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  for (let n = 0; n < CALLS; n++) {
    const began = performance.now();
    await call();
    took.push(performance.now() - began);
  }
  return took.sort((a, b) => a - b)[Math.floor(CALLS / 2)] ?? 0;
}
