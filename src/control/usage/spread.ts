// Splits amounts over hours. Amounts are whole numbers, and the parts add up to exactly the amount.

export const HOUR_MS = 3_600_000;

export const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

/** Parts of `amount` by hour, in proportion to the time between `from` and `to` (ms since 1970). */
export function spread(from: number, to: number, amount: number): Map<number, number> {
  const parts = new Map<number, number>();
  if (amount === 0) return parts;
  if (to <= from) return parts.set(hourOf(to), amount);
  let done = 0;
  for (let hour = hourOf(from); hour * HOUR_MS < to; hour++) {
    const until = Math.min(to, (hour + 1) * HOUR_MS);
    const through = until === to ? amount : Math.floor(amount * ((until - from) / (to - from)));
    if (through > done) parts.set(hour, through - done);
    done = through;
  }
  return parts;
}
