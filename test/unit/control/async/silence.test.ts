// Signs of life: one for every 15 s without anything, none while something comes, and the source is let go of.
import { describe, expect, it } from 'vitest';
import { orSilence } from '../../../../src/control/async/silence.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

describe('orSilence', () => {
  it('reports every 15 s without a value, and yields the values in order', async () => {
    const clock = fakeClock();
    let give = (_: string) => {};
    async function* source() {
      yield 'at once';
      yield await new Promise<string>((resolve) => {
        give = resolve;
      });
    }
    const lines = orSilence(source(), clock);
    expect((await lines.next()).value).toBe('at once');
    for (let n = 0; n < 3; n++) {
      const next = lines.next();
      await clock.advance(15_000);
      expect(await next).toEqual({ done: false, value: undefined });
    }
    const last = lines.next();
    await clock.advance(14_000);
    give('late');
    expect((await last).value).toBe('late');
    expect((await lines.next()).done).toBe(true);
    expect(clock.pending()).toBe(0);
  });

  it('passes on the end of its source, and ends the source when the reader leaves', async () => {
    const clock = fakeClock();
    async function* broken(): AsyncGenerator<string> {
      yield 'one';
      throw new Error('no more');
    }
    const lines = orSilence(broken(), clock);
    await lines.next();
    await expect(lines.next()).rejects.toThrow('no more');
    let isLeft = false;
    async function* endless(): AsyncGenerator<number> {
      try {
        for (;;) yield 1;
      } finally {
        isLeft = true;
      }
    }
    for await (const _ of orSilence(endless(), clock)) break;
    expect(isLeft).toBe(true);
  });
});
