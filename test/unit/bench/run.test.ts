// Which rows of the table are measured, what is said of those that are not, and how a run is told.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readBefore } from '../../../bench/compare.ts';
import type { Group } from '../../../bench/group.ts';
import { GROUPS } from '../../../bench/groups.ts';
import { programs } from '../../../bench/needs.ts';
import { benchSummary, listText, markdown, rowText } from '../../../bench/report.ts';
import { bench, isGood, listed } from '../../../bench/run.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

function group(
  ids: readonly string[],
  { need, ours = 1, limit, floor }: { need?: string; ours?: number; limit?: string; floor?: number } = {},
): Group {
  return {
    about: `about ${ids[0]}`,
    ids,
    need: () => need,
    run: async (_root, measure) => {
      for (const id of ids)
        await measure({
          ...{
            id,
            name: `name of ${id}`,
            target: 2,
            pairs: 3,
            warmUps: 0,
            ...(limit !== undefined && { limit: () => limit }),
            ...(floor !== undefined && { floor: async () => ({ ms: floor, ours, what: 'the rest' }) }),
          },
          ours: async () => ours,
          baseline: async () => 1,
        });
    },
  };
}

const idsOf = async (only?: string[]) =>
  (
    await bench({ root: '/', only, groups: [group(['P1']), group(['P2-a', 'P2-b']), group(['P20'])] })
  ).rows.map(({ id }) => id);

it('measures all rows, or those that are named', async () => {
  expect(await idsOf()).toEqual(['P1', 'P2-a', 'P2-b', 'P20']);
  expect(await idsOf(['P2'])).toEqual(['P2-a', 'P2-b']);
  expect(await idsOf(['P2-b', 'P20'])).toEqual(['P2-b', 'P20']);
});

it('refuses an unknown row before anything is measured', async () => {
  const told: string[] = [];
  const running = bench({
    ...{ root: '/', only: ['P1', 'P9'], groups: [group(['P1'])] },
    started: ({ id }) => void told.push(id),
  });
  await expect(running).rejects.toMatchObject({ code: 'bad_request', message: 'There is no row "P9".' });
  expect(told).toEqual([]);
});

it('reports each row as it ends, passed or failed, with its earlier figure', async () => {
  const lines: string[] = [];
  const results = await bench({
    ...{ root: '/', before: new Map([['P2', 2.5]]) },
    groups: [group(['P1']), group(['P2'], { ours: 3 })],
    ended: (row) => void lines.push(rowText(row)),
  });
  expect(lines[0]).toMatch(/^pass {2}P1 +1\.00 \(1\.00–1\.00\), bar ≤ 2: 1\.00 \/ 1\.00 ms against 1\.00/);
  expect(lines[1]).toMatch(/^FAIL {2}P2 +3\.00 .*, was 2\.50: /);
  expect(benchSummary(results)).toBe('2 measured in 0.0 min, 1 missed their bar, 0 not run.');
});

it('reports why a row is not run, without failing', async () => {
  const groups = [group(['P1']), group(['P7'], { need: 'no engine here' })];
  const results = await bench({ root: '/', groups });
  expect(results.not_run).toEqual([{ id: 'P7', reason: 'no engine here' }]);
  expect(benchSummary(results)).toContain('not run: P7: no engine here\n1 measured in 0.0 min, 0 missed');
  expect(markdown(results)).toContain('- P7: not run: no engine here.');
  expect(listText(listed('/', groups))).toBe(
    'about P1\n  P1\nabout P7\n  P7\n  not run here: no engine here',
  );
});

it('measures the other rows when a group breaks, and fails', async () => {
  const broken = group(['P2', 'P3']);
  const run = broken.run;
  const breaks: Group = {
    ...broken,
    run: (root, measure) =>
      run(root, (pair) => (pair.id === 'P3' ? Promise.reject(new Error('disk full\nat x')) : measure(pair))),
  };
  const results = await bench({ root: '/', groups: [group(['P1']), breaks, group(['P4'])] });
  expect(results.rows.map(({ id }) => id)).toEqual(['P1', 'P2', 'P4']);
  expect(results.not_run).toEqual([{ id: 'P3', reason: 'broke: Error: disk full', broke: true }]);
  expect(isGood(results)).toBe(false);
  expect(isGood({ ...results, not_run: [] })).toBe(true);
});

it('goes on with a run that was ended', async () => {
  const groups = [group(['P1', 'P2']), group(['P3'])];
  const { rows: done } = await bench({ root: '/', only: ['P1', 'P3'], groups });
  const told: string[] = [];
  const results = await bench({ root: '/', groups, done, ended: ({ id }) => void told.push(id) });
  expect(told).toEqual(['P2']);
  expect(results.rows.map(({ id }) => id)).toEqual(['P1', 'P2', 'P3']);
});

it('names the limit that a row meets where it misses, and only there', async () => {
  const limit = 'the disk is as fast as that.';
  const groups = [group(['P1'], { limit }), group(['P2'], { ours: 3, limit })];
  const results = await bench({ root: '/', groups });
  expect(results.rows.map((row) => row.limit)).toEqual([undefined, limit]);
  expect(results.rows.map(rowText).join('\n').split(limit)).toHaveLength(2);
  expect(markdown(results)).toContain(`- P2 meets a limit: ${limit}`);
});

it('passes a row at its floor, and says so', async () => {
  const groups = [
    group(['P1'], { ours: 3, floor: 2.8 }),
    group(['P2'], { ours: 3, floor: 2.6, limit: 'more.' }),
  ];
  const { rows } = await bench({ root: '/', groups });
  expect(rows.map(({ pass, limit }) => [pass, limit])).toEqual([
    [true, 'the rest takes 2.8 ms, and ours in turn with it 3.0 ms'],
    [false, 'the rest takes 2.6 ms, and ours in turn with it 3.0 ms; more.'],
  ]);
});

it('ends between two measurements when it is interrupted', async () => {
  const interruption = new AbortController();
  const running = bench({
    ...{ root: '/', groups: [group(['P1', 'P2'])], signal: interruption.signal },
    ended: () => interruption.abort(),
  });
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
});

it('reads the figures of an earlier run, and rejects other files', () => {
  const file = join(folder, 'results.json');
  const rows = [{ id: 'P1', ratio: 1.5 }, { id: 'P15', value: 0.9 }, { id: 'P9' }];
  writeFileSync(file, JSON.stringify({ rows }));
  expect([...readBefore(file)]).toEqual([
    ['P1', 1.5],
    ['P15', 0.9],
  ]);
  for (const text of ['', '[]', 'null', '{"rows":[null]}']) {
    writeFileSync(file, text);
    expect(() => readBefore(file)).toThrow(/does not contain benchmark results/);
  }
  expect(() => readBefore(join(folder, 'nothing'))).toThrow(/does not contain benchmark results/);
});

it('finds programs on PATH and names the missing ones', () => {
  expect(programs('sh')('/')).toBeUndefined();
  expect(programs('sh', 'no-such-program')('/')).toBe('not found on PATH: no-such-program');
});

it('has each row once', () => {
  const ids = GROUPS.flatMap((each) => each.ids);
  expect(new Set(ids).size).toBe(ids.length);
});
