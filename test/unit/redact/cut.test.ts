// Long texts: looked at only as far as they are shown and a little more, and nothing that shows is half of a secret.
import { expect, it } from 'vitest';
import { redactor } from '../../../src/redact/engine.ts';

const SECRET = 'correct-horse-battery-staple-0123456789';
const clean = redactor({ secrets: [SECRET] });
/** Any beginning of it that is long enough to tell something. */
const half = SECRET.slice(0, 6);

it('shows no part of a secret that a cut divides, at any position', () => {
  for (const at of [990, 999, 1_000, 17_350, 17_380, 17_383, 17_384, 17_400]) {
    const text = `${'x'.repeat(at - 20)}${SECRET}${'y'.repeat(60_000)}`;
    expect(clean.cut(text, 1_000)).not.toContain(half);
    expect(JSON.stringify(redactor({ secrets: [SECRET] }).value({ text }))).not.toContain(half);
  }
});

it('shows no secret that earlier masks shifted into view', () => {
  const many = `${SECRET} `.repeat(600);
  for (let shift = 0; shift < SECRET.length + 1; shift++)
    expect(clean.cut(`${'x'.repeat(shift)}${many}`, 1_000)).not.toContain(half);
});

it('keeps short text unchanged, and reports how much it removed', () => {
  expect(clean.cut('short', 100)).toBe('short');
  expect(clean.cut(`a ${SECRET}`, 100)).toBe('a [redacted]');
  expect(clean.cut('x'.repeat(30_000), 10)).toBe(`${'x'.repeat(10)}… (29990 more)`);
});

it('needs time for the text that it shows, not for its input', () => {
  const hostile = 'password=x token: "'.repeat(1_000_000);
  const began = process.cpuUsage();
  clean.cut(hostile, 8_192);
  clean.value({ a: hostile, b: hostile, many: Array(5_000).fill(hostile.slice(0, 40_000)) });
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1000).toBeLessThan(400);
});
