// Bytes from the stock are nobody else's, also over its end, and what a taker does with them changes no others.
import { expect, it } from 'vitest';
import { realRandom } from '../../../src/host/random.ts';

it.each([1, 12, 16, 17, 32, 5000])('gives %i bytes, different each time', (count) => {
  const random = realRandom();
  const seen = new Set<string>();
  for (let n = 0; n < 2000; n += 1) {
    const bytes = random.bytes(count);
    expect(bytes).toHaveLength(count);
    seen.add(bytes.toString('hex'));
    bytes.fill(0);
  }
  // One byte has 256 values; of twelve no two are alike.
  expect(seen.size).toBeGreaterThan(count === 1 ? 200 : 1999);
  expect(random.bytes(0)).toHaveLength(0);
});
