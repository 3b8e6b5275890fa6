// The bar of a copy: on a terminal only, not at every byte, gone at the end.
import { expect, it } from 'vitest';
import { barText, countedOn, progressOn } from '../../../src/cli/progress.ts';
import { sizeText } from '../../../src/cli/render.ts';

it('shows share, bytes and speed', () => {
  expect(barText({ total: 4096, moved: 1024, ms: 1000 })).toBe(
    `[${'#'.repeat(6)}${'-'.repeat(18)}]  25%  1.0 KiB of 4.0 KiB  1.0 KiB/s`,
  );
  expect(barText({ total: 10, moved: 20, ms: 1000 })).toContain(' 100%');
  expect(barText({ total: 0, moved: 512, ms: 500 })).toBe('512 B  1.0 KiB/s');
});

it('draws at most ten times a second and removes itself', () => {
  const written: string[] = [];
  let now = 0;
  const bar = progressOn({ isTTY: true, write: (text) => written.push(text) }, () => now);
  bar.total(100);
  for (; now < 1000; now += 10) bar.moved(1);
  expect(written).toHaveLength(10);
  bar.end();
  expect(written.at(-1)).toBe('\r\u001b[K');
});

it('stays on one line of a narrow terminal', () => {
  const whole = barText({ total: 4096, moved: 0, ms: 0 }).length;
  for (const columns of [20, 80, 0]) {
    const written: string[] = [];
    const bar = progressOn({ isTTY: true, columns, write: (text) => written.push(text) }, () => 0);
    bar.total(4096);
    expect(written).toHaveLength(1);
    expect(written[0]?.replace('\r\u001b[K', '')).toHaveLength(columns === 20 ? 19 : whole);
  }
});

it('knows the most that was copied, also when a part is copied again', () => {
  const { moved, most } = countedOn({ total: () => {}, moved: () => {}, end: () => {} });
  for (const bytes of [5, 3, -8, 2]) moved(bytes);
  expect(most()).toBe(8);
});

it('draws nothing without a terminal', () => {
  const written: string[] = [];
  const bar = progressOn({ write: (text) => written.push(text) }, () => 0);
  bar.total(1);
  bar.moved(1);
  bar.end();
  expect(written).toEqual([]);
});

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1536 * 1024, '1.5 MiB'],
  [2 ** 60, '1024.0 PiB'],
])('%d is %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
