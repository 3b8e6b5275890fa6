// Randomness from the kernel's generator. Everyone else is handed a `Random`, so that a test can seed it.
import { randomBytes } from 'node:crypto';
import type { Random } from '../domain/ports.ts';

/** Ids are drawn from a stock: asking the generator for each costs a tenth of a small request. */
const STOCK_BYTES = 4096;
/** More than an id needs is a secret, and comes by itself. */
const SMALL = 16;

/** Cryptographically strong bytes. */
export function realRandom(): Random {
  let stock = Buffer.alloc(0);
  let used = 0;
  return {
    bytes: (count) => {
      if (count > SMALL) return randomBytes(count);
      if (used + count > stock.length) {
        stock = randomBytes(STOCK_BYTES);
        used = 0;
      }
      const taken = Buffer.from(stock.subarray(used, used + count));
      stock.fill(0, used, used + count);
      used += count;
      return taken;
    },
  };
}
