// Turns against a plain model: lists of owners in order, searched from the front each time.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FairQueue,
  type MissingCapacity,
  type QueueEntry,
  type Waiting,
} from '../../../src/domain/fair-queue.ts';

interface Item extends Waiting {
  name: string;
}

const take = (queue: FairQueue<Item>): string | undefined => {
  const place = queue.next();
  if (place) queue.served(place);
  return place?.item.name;
};
const filled = (...names: string[]) => {
  const queue = new FairQueue<Item>();
  const places = names.map((name) => queue.add({ name, owner: name[0] ?? '', provider: 'p' }));
  return { queue, places };
};

describe('turns', () => {
  it('alternate between owners, by age within one', () => {
    const { queue } = filled('a1', 'a2', 'a3', 'b1', 'c1', 'b2');
    const order = Array.from({ length: 7 }, () => take(queue));
    expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined]);
    expect(queue.size).toBe(0);
  });

  it('delay the first item of an owner by one behind an owner with 1,000', () => {
    const { queue } = filled(...Array.from({ length: 1000 }, (_, i) => `a${i}`), 'b1');
    expect([take(queue), take(queue)]).toEqual(['a0', 'b1']);
  });

  it('skip an owner without capacity, and return its turn later', () => {
    const { queue } = filled('a1', 'b1', 'c1', 'a2');
    queue.hold(queue.next()!, 'owner');
    expect(take(queue)).toBe('b1');
    queue.add({ name: 'b2', owner: 'b', provider: 'p' });
    queue.freed({ owner: 'a', provider: 'p' });
    expect([take(queue), take(queue), take(queue), take(queue)]).toEqual(['a1', 'c1', 'b2', 'a2']);
  });

  it('stop without capacity until some is free', () => {
    const { queue } = filled('a1', 'b1');
    queue.hold(queue.next()!, 'all');
    expect(queue.next()).toBeUndefined();
    queue.release('a');
    expect(queue.next()).toBeUndefined();
    queue.freed({ owner: 'z', provider: 'q' });
    expect(take(queue)).toBe('a1');
  });

  it('continue at other providers while one is full', () => {
    const queue = new FairQueue<Item>();
    for (const name of ['a1', 'b1']) queue.add({ name, owner: name[0]!, provider: 'p' });
    queue.add({ name: 'c1', owner: 'c', provider: 'q' });
    queue.hold(queue.next()!, 'provider');
    expect([take(queue), take(queue)]).toEqual(['c1', undefined]);
    expect(queue.mustWait({ owner: 'z', provider: 'p' })).toBe(true);
    expect(queue.mustWait({ owner: 'z', provider: 'q' })).toBe(false);
    expect(queue.mustWait({ owner: 'a', provider: 'q' })).toBe(true);
    queue.freed({ owner: 'z', provider: 'p' });
    expect([take(queue), take(queue)]).toEqual(['a1', 'b1']);
  });

  it('let new items pass only owners without capacity of their own', () => {
    const { queue } = filled('a1');
    expect(queue.mustWait({ owner: 'z', provider: 'p' })).toBe(true);
    queue.hold(queue.next()!, 'owner');
    expect(queue.mustWait({ owner: 'z', provider: 'p' })).toBe(false);
    expect(queue.mustWait({ owner: 'a', provider: 'p' })).toBe(true);
  });

  it('skip items without a pool slot for items that may get one', () => {
    const { queue } = filled('a1', 'b1', 'c1', 'c2');
    for (const lacking of ['a1', 'b1']) {
      expect(queue.next()?.item.name).toBe(lacking);
      queue.hold(queue.next()!, 'pool');
    }
    expect(take(queue)).toBe('c1');
    // One who comes may have a place there, too; one who shares a line with a waiting one has not.
    expect(queue.mustWait({ owner: 'z', provider: 'p' })).toBe(true);
    expect(take(queue)).toBe('c2');
    expect(queue.mustWait({ owner: 'z', provider: 'p' })).toBe(false);
    expect(queue.mustWait({ owner: 'b', provider: 'p' })).toBe(true);
    queue.freed({ owner: 'z', provider: 'p' });
    expect(queue.mustWait({ owner: 'z', provider: 'p' })).toBe(true);
    expect([take(queue), take(queue)]).toEqual(['a1', 'b1']);
  });

  it('cost one attempt for each freed slot, for any number without a pool slot', () => {
    const { queue } = filled('a1', 'b1', 'c1', 'd1', 'e1');
    while (queue.next()) queue.hold(queue.next()!, 'pool');
    queue.freed({ owner: 'z', provider: 'p' });
    queue.hold(queue.next()!, 'pool');
    expect(queue.next()).toBeUndefined();
  });

  it('forget an item that left, and allow leaving twice', () => {
    const { queue, places } = filled('a1', 'a2', 'b1');
    queue.remove(places[0] as QueueEntry<Item>);
    queue.remove(places[0] as QueueEntry<Item>);
    expect(queue.size).toBe(2);
    expect([take(queue), take(queue), take(queue)]).toEqual(['a2', 'b1', undefined]);
  });
});

interface ModelLine {
  owner: string;
  items: Item[];
  held: boolean;
  outsideOf?: string | undefined;
}

/** Every line in turn; the first whose head lacks nothing that is known to be full. */
class Model {
  lines: ModelLine[] = [];
  full = new Set<string>();

  add(item: Item): void {
    const line = this.lines.find(({ owner }) => owner === item.owner);
    if (line) line.items.push(item);
    else this.lines.push({ owner: item.owner, items: [item], held: false });
  }
  next(): Item | undefined {
    if (this.full.has('')) return undefined;
    return this.lines.find((line) => this.mayGo(line))?.items[0];
  }
  mayGo({ items, held, outsideOf }: ModelLine): boolean {
    const { provider } = items[0]!;
    const isShutOut = outsideOf === provider && this.full.has(`${provider} pool`);
    return !held && !this.full.has(provider) && !isShutOut;
  }
  leave(item: Item, toEnd: boolean): void {
    const line = this.lines.find(({ owner }) => owner === item.owner)!;
    const wasFirst = line.items[0] === item;
    if (toEnd) line.outsideOf = undefined;
    line.items.splice(line.items.indexOf(item), 1);
    if (toEnd && wasFirst) this.lines = [...this.lines.filter((one) => one !== line), line];
    this.lines = this.lines.filter(({ items }) => items.length > 0);
    if (this.lines.length === 0) this.full.clear();
  }
  hold(item: Item, lack: MissingCapacity): void {
    const line = this.lines.find(({ owner }) => owner === item.owner)!;
    if (lack === 'owner') line.held = true;
    else if (lack === 'pool') {
      line.outsideOf = item.provider;
      this.full.add(`${item.provider} pool`);
    } else this.full.add(lack === 'all' ? '' : item.provider);
  }
  freed(owner: string, provider: string): void {
    this.full.delete('');
    this.full.delete(provider);
    this.full.delete(`${provider} pool`);
    for (const line of this.lines) if (line.owner === owner) line.held = false;
  }
}

const letter = fc.constantFrom('a', 'b', 'c', 'd');
const provider = fc.constantFrom('p', 'q');
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), owner: letter, provider }),
  fc.record({ do: fc.constant('add' as const), owner: letter, provider }),
  fc.record({ do: fc.constant('serve' as const) }),
  fc.record({
    do: fc.constant('hold' as const),
    lack: fc.constantFrom<MissingCapacity[]>('all', 'owner', 'provider', 'pool'),
  }),
  fc.record({ do: fc.constant('leave' as const), at: fc.nat(20) }),
  fc.record({ do: fc.constant('free' as const), owner: letter, provider }),
);

it('agrees with the model whatever happens', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new FairQueue<Item>();
      const model = new Model();
      const places: QueueEntry<Item>[] = [];
      for (const [i, one] of steps.entries()) {
        const next = queue.next();
        if (one.do === 'add') {
          const item = { name: String(i), owner: one.owner, provider: one.provider };
          places.push(queue.add(item));
          model.add(item);
        } else if (one.do === 'free') {
          queue.freed(one);
          model.freed(one.owner, one.provider);
        } else if (one.do === 'leave') {
          const [place] = places.splice(one.at % Math.max(1, places.length), 1);
          if (place?.link) {
            queue.remove(place);
            model.leave(place.item, false);
          }
        } else if (next && one.do === 'hold') {
          queue.hold(next, one.lack);
          model.hold(next.item, one.lack);
        } else if (next) {
          queue.served(next);
          model.leave(next.item, true);
        }
        expect(queue.next()?.item.name).toBe(model.next()?.name);
        expect(queue.size).toBe(model.lines.reduce((sum, { items }) => sum + items.length, 0));
        expect([...queue]).toHaveLength(queue.size);
      }
    }),
    { numRuns: 500 },
  );
});
