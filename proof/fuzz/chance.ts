// Seeded choices. A case is made from its seed alone, so the number that a fault is reported with makes the case again.
export interface Chance {
  /** From 0 to `n` - 1. */
  below(n: number): number;
  /** True once in `n` times. */
  oneIn(n: number): boolean;
  pick<T>(list: readonly T[]): T;
  bytes(count: number): Buffer;
}

/** mulberry32, once for each choice; neighbours in `seed` share nothing. */
export function chanceOf(seed: number): Chance {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  const word = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (n: number) => word() % n;
  return {
    below,
    oneIn: (n) => below(n) === 0,
    pick: (list) => list[below(list.length)]!,
    bytes: (count) => Buffer.from(Array.from({ length: count }, () => word() & 255)),
  };
}
