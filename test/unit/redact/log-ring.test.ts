// The newest log lines, bounded.
import { expect, it } from 'vitest';
import { LogRing } from '../../../src/redact/log-ring.ts';

const line = (n: number, pad = '') =>
  `${JSON.stringify({ level: 'info', time: 't', message: `line ${n}`, pad })}\n`;

it('keeps the newest thousand lines', () => {
  const ring = new LogRing();
  for (let n = 0; n < 2500; n += 1) ring.push(line(n));
  const kept = ring.lines();
  expect(kept).toHaveLength(1000);
  expect([kept[0]?.message, kept.at(-1)?.message]).toEqual(['line 1500', 'line 2499']);
});

it('keeps no more than a mebibyte', () => {
  const ring = new LogRing();
  for (let n = 0; n < 200; n += 1) ring.push(line(n, 'x'.repeat(16_000)));
  const kept = ring.lines();
  expect(kept.length).toBeGreaterThan(60);
  expect(JSON.stringify(kept).length).toBeLessThan(1024 * 1024 + 1000);
  expect(kept.at(-1)?.message).toBe('line 199');
});

it('keeps the message of a huge line without its fields', () => {
  const ring = new LogRing();
  const huge = line(1, 'x'.repeat(100_000));
  ring.push(huge);
  expect(ring.lines()).toEqual([{ level: 'info', time: 't', message: 'line 1', cut: huge.length }]);
});
