// What the results of the campaigns are kept as, and what the page says of them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { upperBound } from '../../../proof/bound.ts';
import { KIND_NAMES, KINDS, type Kind } from '../../../proof/kinds.ts';
import { reliabilityPage } from '../../../proof/page.ts';
import { readResults, record } from '../../../proof/results.ts';
import { readTally, tally } from '../../../proof/tally.ts';
import { temporaryFolder } from '../../support/temporary.ts';

it.each([
  [0, 300, 0.009986],
  [0, 3000, 0.0009986],
  [1, 100, 0.04744],
  [3, 100, 0.07754],
  [0, 1, 1],
  [0, 0, 1],
])('%d found in %d trials: the rate is below %d', (found, trials, bound) => {
  expect(upperBound(found, trials)).toBeCloseTo(bound, 5);
});

it('keeps one row for each name, in order, and all others unchanged', () => {
  const path = join(temporaryFolder(), 'proof/results.json');
  record('authorization', { name: 'b', counts: { trials: 5, wrong: 1 } }, path);
  record('authorization', { name: 'a', counts: { trials: 7, wrong: 0 } }, path);
  record('authorization', { name: 'b', counts: { trials: 9, wrong: 2 } }, path);
  record('secrets', { name: 'x', counts: { trials: 40, found: 0, bytes: 1_234_567 } }, path);
  const { authorization, secrets, soak } = readResults(path);
  expect(authorization.map(({ name, counts }) => [name, counts.trials, counts.wrong])).toEqual([
    ['a', 7, 0],
    ['b', 9, 2],
  ]);
  expect([secrets.length, soak]).toEqual([1, []]);
  const page = reliabilityPage(readResults(path));
  expect(page).toContain('| Authorization | 16 cells | 2 |');
  expect(page).toContain('| x | 40 | 1,234,567 | 0 | 7.5 % |');
  expect(page).toContain('Not run yet.');
});

it('sums the counts of tests, and writes nothing unless requested', () => {
  const file = join(temporaryFolder(), 'tally');
  delete process.env.SVC_TEST_TALLY;
  tally('authorization', 'a', { trials: 1, wrong: 1 });
  process.env.SVC_TEST_TALLY = file;
  for (const wrong of [0, 2]) tally('authorization', 'a', { trials: 13, wrong });
  delete process.env.SVC_TEST_TALLY;
  expect(readTally(file)).toEqual([{ kind: 'authorization', name: 'a', counts: { trials: 26, wrong: 2 } }]);
});

it('stores only rows whose counts the page shows', () => {
  const kept = JSON.parse(readFileSync('proof/results.json', 'utf8'));
  expect(Object.keys(kept)).toEqual(KIND_NAMES);
  for (const name of KIND_NAMES) {
    const { faults, facts }: Kind = KINDS[name];
    const known = new Set(['trials', ...Object.keys(faults), ...Object.keys(facts)]);
    for (const { counts } of readResults()[name])
      expect(Object.keys(counts).filter((key) => !known.has(key))).toEqual([]);
  }
});
