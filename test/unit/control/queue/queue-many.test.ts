// A crowd that waits: each one's limit is its own, and one owner's crowd does not delay another. That 10,000 are served in
// order over the real database is shown in test/contract/spawn-queue.test.ts.
import { describe, expect, it } from 'vitest';
import { forever, owned, type World, world } from '../../../support/servers/control.ts';

const [WAITING, LIMIT_MS] = [10_000, 30_000];

/** One place. */
const crowd = () =>
  world({
    defaults: {
      ...{ spawn_overflow: 'queue', spawn_queue_timeout: '30s', max_spawn_queue: WAITING, max_sandboxes: 1 },
    },
  });

interface Started {
  id: string;
  owner: string;
}

interface Seen {
  /** In their order. */
  started: Started[];
  /** How long each waited that was refused for it. */
  refused: number[];
}

/** One more spawn, whose end is noted in `seen`. */
function ask(w: World, seen: Seen, owner: string): void {
  const since = w.clock.monotonic();
  w.control.sandboxes.spawn({ ttl: '1h' }, owned(owner), {}, forever).then(
    ({ id }) => seen.started.push({ id, owner }),
    (error: { details?: { reason?: string } }) => {
      if (error.details?.reason === 'queue_timeout') seen.refused.push(w.clock.monotonic() - since);
    },
  );
}

const free = (w: World, { id, owner }: Started) => w.control.sandboxes.destroy(id, owned(owner));

describe('a long queue', () => {
  it('refuses each spawn at its own wait limit, and never starts it later', async () => {
    const w = crowd();
    const seen: Seen = { started: [], refused: [] };
    ask(w, seen, 'first');
    await w.clock.advance(0);
    for (let n = 0; n < WAITING; n += 1) {
      ask(w, seen, `owner-${n % 7}`);
      if (n % 1000 !== 999) continue;
      // Each has begun to wait before time goes on.
      await w.clock.advance(0);
      await w.clock.advance(700);
    }
    for (let done = 0; done <= LIMIT_MS; done += 500) await w.clock.advance(500);
    expect(seen.refused).toHaveLength(WAITING);
    expect(new Set(seen.refused)).toEqual(new Set([LIMIT_MS]));
    await free(w, seen.started[0]!);
    await w.clock.advance(LIMIT_MS);
    expect(w.fake.made).toHaveLength(1);
  });

  it('of one owner delays another by one spawn at most', async () => {
    const w = crowd();
    const seen: Seen = { started: [], refused: [] };
    for (let n = 0; n < 1000; n += 1) ask(w, seen, 'many');
    await w.clock.advance(0);
    for (let n = 0; n < 20; n += 1) {
      const other = `other-${n}`;
      ask(w, seen, other);
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

it('starts the one that got the place before it plans the next', async () => {
  const w = crowd();
  const seen: Seen = { started: [], refused: [] };
  for (const owner of ['ann', 'bob', 'cid']) {
    ask(w, seen, owner);
    await w.clock.advance(0);
  }
  const calls: string[] = [];
  const { provider, store } = w;
  const [{ create }, { reserve }] = [provider, store.sandboxes];
  provider.create = (...given) => {
    calls.push('create');
    return create(...given);
  };
  store.sandboxes.reserve = (order) => {
    calls.push('reserve');
    return reserve(order);
  };
  await w.control.sandboxes.destroy(seen.started[0]?.id ?? '', owned('ann'));
  await w.clock.advance(0);
  expect(calls).toEqual(['reserve', 'create', 'reserve']);
  expect(seen.started.map(({ owner }) => owner)).toEqual(['ann', 'bob']);
});
