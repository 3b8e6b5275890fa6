// Ten thousand spawns that wait: their order, the limit of each one's wait, and that nobody's crowd delays another.
import { describe, expect, it } from 'vitest';
import { api, forever, owned, type World, world } from '../../support/control.ts';

const [CAP, SPAWNS, OWNERS, LIMIT_S] = [4, 10_000, 100, 30];
const LIMIT_MS = LIMIT_S * 1000;

const crowd = (defaults = {}) =>
  world({
    defaults: {
      ...{ spawn_overflow: 'queue', spawn_queue_timeout: `${LIMIT_S}s`, max_spawn_queue: SPAWNS },
      ...{ max_sandboxes: CAP, ...defaults },
    },
  });

interface Started {
  id: string;
  owner: string;
  /** Its place among the spawns of its owner. */
  nth: number;
}

interface Seen {
  /** In their order. */
  started: Started[];
  /** How long each waited that was refused. */
  refused: number[];
  /** The longest wait of one that was started. */
  longest: number;
  unexpected: unknown[];
}

/** One more spawn, whose end is noted in `seen`. */
function ask(w: World, seen: Seen, { owner, nth }: { owner: string; nth: number }): void {
  const since = w.clock.monotonic();
  w.control.sandboxes.spawn({ ttl: '1h' }, owned(owner), {}, forever).then(
    ({ id }) => {
      seen.started.push({ id, owner, nth });
      seen.longest = Math.max(seen.longest, w.clock.monotonic() - since);
    },
    (error: { details?: { reason?: string } }) => {
      if (error.details?.reason === 'queue_timeout') seen.refused.push(w.clock.monotonic() - since);
      else seen.unexpected.push(error);
    },
  );
}

const nothingSeen = (): Seen => ({ started: [], refused: [], longest: 0, unexpected: [] });
const free = (w: World, { id, owner }: Started) => w.control.sandboxes.destroy(id, owned(owner));

describe('a crowd that waits', () => {
  it('is served in turn, and who is not in time is refused in time and never started', async () => {
    const w = crowd();
    const seen = nothingSeen();
    const seconds = 10;
    for (let n = 0; n < SPAWNS; n += 1) {
      ask(w, seen, { owner: `owner-${n % OWNERS}`, nth: Math.floor(n / OWNERS) });
      if ((n + 1) % (SPAWNS / seconds) > 0) continue;
      // Each has begun to wait before time goes on.
      await w.clock.advance(0);
      await w.clock.advance(1000);
    }
    expect(seen.started).toHaveLength(CAP);
    expect((await w.control.sandboxes.admission({}, api)).queue_depth).toBe(SPAWNS - CAP);

    // A fifth gets a place, one after the other.
    const served = SPAWNS / 5;
    for (let next = 0; next < served; next += 1) {
      await free(w, seen.started[next]!);
      if (next % 100 === 0) await w.clock.advance(100);
    }
    await w.clock.advance(0);
    const turns = seen.started.map(({ owner, nth }) => `${owner} ${nth}`);
    expect(turns).toEqual(turns.map((_, n) => `owner-${n % OWNERS} ${Math.floor(n / OWNERS)}`));
    expect(turns).toHaveLength(served + CAP);

    // The others' time runs out, each one's by itself.
    for (let second = 0; second <= LIMIT_S; second += 1) await w.clock.advance(1000);
    expect(seen.started.length + seen.refused.length).toBe(SPAWNS);
    expect(seen.unexpected).toEqual([]);
    expect(Math.min(...seen.refused)).toBeGreaterThanOrEqual(LIMIT_MS);
    expect(Math.max(...seen.refused)).toBeLessThanOrEqual(LIMIT_MS);
    expect(seen.longest).toBeLessThan(LIMIT_MS);

    const before = w.fake.made.length;
    for (const one of seen.started.slice(-CAP)) await free(w, one);
    await w.clock.advance(LIMIT_MS);
    expect(w.fake.made).toHaveLength(before);
    expect(before).toBe(seen.started.length);
    expect((await w.store.sandboxes.countActive()).total).toBe(0);
  });

  it('of one owner delays another by one service at most', async () => {
    const w = crowd({ max_sandboxes: 1 });
    const seen = nothingSeen();
    for (let nth = 0; nth < 1000; nth += 1) ask(w, seen, { owner: 'many', nth });
    await w.clock.advance(0);
    for (let n = 0; n < 20; n += 1) {
      const other = `other-${n}`;
      ask(w, seen, { owner: other, nth: 0 });
      await w.clock.advance(0);
      const running = seen.started.length - 1;
      // The service that goes on would be waited for without the crowd, too; the crowd costs one more.
      for (let service = 0; service < 2; service += 1) {
        await free(w, seen.started.at(-1)!);
        await w.clock.advance(1);
      }
      expect(seen.started.slice(running + 1).map(({ owner }) => owner)).toContain(other);
    }
  });
});
