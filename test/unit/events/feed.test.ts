// The feed: every reader gets every event once and in order, whenever it joins and whatever order the bus is told in.
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventBus } from '../../../src/events/bus.ts';
import { EventFeed, type EventReader, type Following } from '../../../src/events/feed.ts';
import type { Event } from '../../../src/schema/event.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { memoryStore } from '../../support/memory-store/store.ts';
import { appended, eventDraft } from '../../support/records.ts';
import { until } from '../../support/until.ts';

function feedWorld() {
  const deps = fakeDeps();
  const { events } = memoryStore(deps);
  const bus = eventBus(deps);
  let failing = 0;
  const since = async (after: number, limit: number) => {
    if (failing-- > 0) throw new Error('no database');
    return events.since(after, limit);
  };
  const feed = new EventFeed({ ...deps, bus, since });
  const append = (count: number, facts = {}) =>
    appended(
      events,
      Array.from({ length: count }, () => eventDraft(facts)),
    );
  const publish = async (count: number, facts = {}) => {
    await append(count, facts);
    bus.publish([eventDraft()]);
  };
  const fail = (times: number) => {
    failing = times;
  };
  return { ...deps, bus, feed, append, publish, fail };
}

interface Heard extends EventReader {
  ids: number[];
  batches: (readonly Event[])[];
}

function listener(wait: () => Promise<void> = async () => {}): Heard {
  const heard: Heard = {
    ids: [],
    batches: [],
    take: (events) => {
      heard.batches.push(events);
      heard.ids.push(...events.map(({ id }) => id));
    },
    catchUp: async (events) => {
      if (events.length > 0) heard.take(events);
      await wait();
    },
  };
  return heard;
}

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const never = new AbortController().signal;

it('delivers stored events, then new ones', async () => {
  const { feed, publish } = feedWorld();
  await publish(600);
  const heard = listener();
  await feed.follow({ filter: {}, after: 10, reader: heard, signal: never });
  expect(heard.ids).toEqual(upTo(600, 11));
  await publish(3);
  await until('the rest came', () => heard.ids.length === 593);
  expect(heard.ids).toEqual(upTo(603, 11));
  expect(feed.served).toBe(603);
});

it.each([
  ['over', (feed: EventFeed, following: Following) => feed.replay(following, 10_000)],
  ['followed', (feed: EventFeed, following: Following) => feed.follow(following)],
])(
  'lets a reader whose backlog is %s yield after each page, also after one without a match',
  async (_, read) => {
    const { feed, publish } = feedWorld();
    await publish(10_000);
    let pages = 0;
    const catchUp = async (events: readonly Event[]) => {
      expect(events).toEqual([]);
      pages += 1;
    };
    await read(feed, { filter: { types: [] }, after: 0, reader: { ...listener(), catchUp }, signal: never });
    expect(pages).toBeGreaterThanOrEqual(Math.floor(10_000 / 256));
  },
);

it('reads events from the store, in order and once although the bus repeats them or is late', async () => {
  const { feed, append, bus } = feedWorld();
  const heard = listener();
  await feed.follow({ filter: {}, after: 0, reader: heard, signal: never });
  await append(1);
  await append(1);
  bus.publish([eventDraft({ data: { n: 2 } })]);
  bus.publish([eventDraft({ data: { n: 1 } }), eventDraft({ data: { n: 2 } })]);
  await until('both came', () => heard.ids.length >= 2);
  await setImmediate();
  expect(heard.ids).toEqual([1, 2]);
});

it('gives readers of equal filters the same array with only matching events', async () => {
  const { feed, publish } = feedWorld();
  const [a, b, c] = [listener(), listener(), listener()];
  for (const reader of [a, b]) await feed.follow({ filter: {}, after: 0, reader, signal: never });
  await feed.follow({ filter: { sandbox_id: 'sb-1' }, after: 0, reader: c, signal: never });
  await publish(2);
  await publish(1, { sandbox_id: 'sb-1' });
  await until('all came', () => c.ids.length === 1 && b.ids.length === 3);
  expect(a.batches.length).toBeGreaterThan(0);
  expect(a.batches.every((batch, i) => batch === b.batches[i])).toBe(true);
  expect(c.ids).toEqual([3]);
});

describe('a burst', () => {
  const joined = async (count: number) => {
    const world = feedWorld();
    const readers = Array.from({ length: count }, () => listener());
    for (const reader of readers)
      await world.feed.follow({ filter: {}, after: 0, reader, signal: new AbortController().signal });
    const sizes = () => new Set(readers.map(({ batches }) => batches.map(({ length }) => length).join()));
    return { ...world, readers, sizes };
  };

  it('goes to many readers together, at its end', async () => {
    const { publish, clock, sizes } = await joined(100);
    await publish(20);
    await clock.advance(0);
    await publish(30);
    await clock.advance(10);
    expect(sizes()).toEqual(new Set(['']));
    await clock.advance(10);
    expect(sizes()).toEqual(new Set(['50']));
  });

  it('waits 100 ms at most, and for 512 events at most', async () => {
    const { publish, clock, sizes } = await joined(100);
    await publish(20);
    await clock.advance(0);
    for (let n = 0; n < 10; n += 1) {
      await publish(20);
      expect(sizes()).toEqual(new Set(['']));
      await clock.advance(10);
    }
    expect(sizes()).toEqual(new Set(['220']));
    await publish(600);
    await clock.advance(0);
    expect(sizes()).toEqual(new Set(['220,512']));
  });

  it('goes out at once to few readers, and so do few events to many', async () => {
    const few = await joined(3);
    await few.publish(300);
    await few.clock.advance(0);
    expect(few.sizes()).toEqual(new Set(['300']));
    const many = await joined(100);
    await many.publish(7);
    await many.clock.advance(0);
    expect(many.sizes()).toEqual(new Set(['7']));
  });
});

it('delivers nothing after the end of a reader or of the feed', async () => {
  const { feed, publish } = feedWorld();
  const [gone, stays] = [listener(), listener()];
  const end = new AbortController();
  await feed.follow({ filter: {}, after: 0, reader: gone, signal: end.signal });
  await feed.follow({ filter: {}, after: 0, reader: stays, signal: never });
  end.abort();
  await publish(1);
  await until('the other has it', () => stays.ids.length === 1);
  expect(gone.ids).toEqual([]);
  feed.close();
  await publish(1);
  await setImmediate();
  await setImmediate();
  expect(stays.ids).toEqual([1]);
});

it('continues at its position after a failure of the store', async () => {
  const { feed, publish, fail, clock, logger } = feedWorld();
  const heard = listener();
  await feed.follow({ filter: {}, after: 0, reader: heard, signal: never });
  await publish(1);
  await until('the first came', () => heard.ids.length === 1);
  fail(2);
  await publish(2);
  await until('it has failed', () => logger.lines.length === 1);
  await clock.advance(1000);
  await until('it has failed again', () => logger.lines.length === 2);
  await clock.advance(1000);
  await until('it is back', () => heard.ids.length === 3);
  expect(heard.ids).toEqual([1, 2, 3]);
});

it('rejects a reader whose backlog the store cannot read', async () => {
  const { feed, fail } = feedWorld();
  fail(1);
  await expect(feed.follow({ filter: {}, after: 0, reader: listener(), signal: never })).rejects.toThrow(
    'no database',
  );
});

it('replays up to an id and not further', async () => {
  const { feed, publish } = feedWorld();
  await publish(700);
  const heard = listener();
  await feed.replay({ filter: {}, after: 2, reader: heard, signal: never }, 600);
  expect(heard.ids).toEqual(upTo(600, 3));
  const none = listener();
  await feed.replay({ filter: {}, after: 700, reader: none, signal: never }, 700);
  expect(none.ids).toEqual([]);
});

describe('with readers that come and go at any time', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 300 }) }),
    fc.record({
      do: fc.constant('join' as const),
      back: fc.integer({ min: 0, max: 400 }),
      slow: fc.boolean(),
    }),
    fc.record({ do: fc.constant('leave' as const), which: fc.nat(20) }),
    fc.record({ do: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 6 }) }),
  );

  it('no event is missed or delivered twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
        const { feed, publish } = feedWorld();
        const readers: { heard: Heard; after: number; end: AbortController }[] = [];
        const joins: Promise<void>[] = [];
        let last = 0;
        for (const each of steps) {
          if (each.do === 'publish') {
            last += each.count;
            await publish(each.count);
          } else if (each.do === 'join') {
            const end = new AbortController();
            const heard = listener(async () => {
              for (let n = 0; each.slow && n < 4; n += 1) await setImmediate();
            });
            const after = Math.max(0, last - each.back);
            readers.push({ heard, after, end });
            joins.push(feed.follow({ filter: {}, after, reader: heard, signal: end.signal }));
          } else if (each.do === 'leave') {
            readers.splice(each.which % Math.max(1, readers.length), 1)[0]?.end.abort();
          } else for (let n = 0; n < each.count; n += 1) await setImmediate();
        }
        await Promise.all(joins);
        await until('all have all', () =>
          readers.every(({ heard, after }) => heard.ids.length >= last - after),
        );
        for (const { heard, after } of readers) expect(heard.ids).toEqual(upTo(last, after + 1));
        feed.close();
      }),
      { numRuns: 150 },
    );
  });
});
