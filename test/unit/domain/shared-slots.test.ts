// Places of several holders: all for one alone, an equal share between many, and nothing taken from who has no name.
import { expect, it } from 'vitest';
import { SharedSlots } from '../../../src/domain/shared-slots.ts';

function taking(most: number) {
  const places = new SharedSlots(most);
  const evicted: string[] = [];
  const take = (holder: string | undefined, name = `${holder}`) =>
    places.take(holder, () => evicted.push(name));
  return { evicted, take };
}

it('a single holder gets all slots, and one for each that it frees', () => {
  const { take, evicted } = taking(3);
  const [first] = [take('ann'), take('ann'), take('ann')];
  expect(take('ann')).toBeUndefined();
  first?.();
  first?.();
  expect([take('ann') !== undefined, take('ann'), evicted]).toEqual([true, undefined, []]);
});

it('the newest slots of the largest holder go to others, down to an equal share', () => {
  const { take, evicted } = taking(6);
  for (let n = 1; n <= 6; n += 1) take('mallory', `mallory ${n}`);
  expect(Array.from({ length: 4 }, () => take('ann') !== undefined)).toEqual([true, true, true, false]);
  expect(evicted).toEqual(['mallory 6', 'mallory 5', 'mallory 4']);
  expect(Array.from({ length: 3 }, () => take('bob') !== undefined)).toEqual([true, true, false]);
  // Whoever was put out takes nothing back, and gives nothing back twice.
  expect([take('mallory'), take('ann')]).toEqual([undefined, undefined]);
});

it('an evicted slot frees nothing', () => {
  const { take } = taking(2);
  const [, newest] = [take('mallory'), take('mallory')];
  expect(take('ann')).toBeDefined();
  newest?.();
  expect(take('ann')).toBeUndefined();
});

it('holders without a name may have all slots, and an empty name is a name', () => {
  const { take, evicted } = taking(2);
  expect([take(undefined), take(undefined)]).not.toContain(undefined);
  expect([take(''), take('ann'), evicted]).toEqual([undefined, undefined, []]);
});
