// Rows of a later run in the kept table.
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { keep, keepRows, refuseOtherMachine } from '../../../bench/keep.ts';
import { hostFacts, type Results } from '../../../bench/report.ts';
import type { Row } from '../../../bench/row.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'svc-bench-test-'));
  mkdirSync(join(root, 'docs'));
});
afterEach(() => rmSync(root, { recursive: true }));

const row = (id: string, ratio: number): Row => ({
  ...{ id, name: `name of ${id}`, unit: 'ms', ratio, target: 2, pass: ratio <= 2, pairs: 3 },
  ours: { p50: ratio, p95: ratio },
  baseline: { p50: 1, p95: 1 },
  interval: [ratio, ratio],
});
const run = (day: string, rows: Row[], more: Partial<Results> = {}): Results => ({
  host: hostFacts(),
  started_at: `2026-01-${day}T00:00:00.000Z`,
  rows,
  not_run: [],
  ...more,
});
const kept = () => JSON.parse(readFileSync(join(root, 'bench/results.json'), 'utf8')) as Results;
const page = () => readFileSync(join(root, 'docs/performance.md'), 'utf8');

it('replaces and adds rows in the order of the table, and says when they were measured', () => {
  const missing = [{ id: 'P37-exec', reason: 'no worker' }];
  keep(root, run('01', [row('P7', 1.5), row('P12', 1.25)], { not_run: missing }));
  keepRows(root, run('02', [row('P37-exec', 0.75), row('P12', 1.75)]));
  expect(kept().rows.map(({ id, ratio, started_at }) => [id, ratio, started_at?.slice(8, 10)])).toEqual([
    ['P7', 1.5, undefined],
    ['P12', 1.75, '02'],
    ['P37-exec', 0.75, '02'],
  ]);
  expect(kept().not_run).toEqual([]);
  expect(page()).toContain('Measured 2026-01-01 on: ');
  expect(page()).toContain('On the same machine, in a later run of 2026-01-02: P12, P37-exec.');
});

it('refuses rows of another machine, and keeps the table', () => {
  keep(root, run('01', [row('P7', 1.5)], { host: { ...hostFacts(), cpus: 4096 } }));
  const before = page();
  expect(() => keepRows(root, run('02', [row('P7', 1)]))).toThrow(/was measured with cpus 4096; here it is/);
  expect(() => refuseOtherMachine(root)).toThrow(expect.objectContaining({ code: 'conflict' }));
  expect(page()).toBe(before);
});

it('refuses rows without a table', () => {
  expect(() => keepRows(root, run('02', [row('P7', 1)]))).toThrow('No table is kept.');
});
