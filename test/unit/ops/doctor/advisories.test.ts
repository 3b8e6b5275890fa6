// Versions against the table of known holes: branches that are fixed count by their own fix.
import { expect, it } from 'vitest';
import { advisoriesFor, isOlder } from '../../../../src/ops/doctor/advisories.ts';

it.each([
  ['1.1.5', 2],
  ['1.1.12', 1],
  ['1.2.7', 1],
  ['1.2.8', 0],
  ['1.3.2', 1],
  ['1.3.3', 0],
  ['1.4.0', 0],
  ['2.0.0', 0],
])('runc %s has %i', (version, count) => {
  expect(advisoriesFor('runc', version)).toHaveLength(count);
  expect(advisoriesFor('crun', version)).toEqual([]);
});

it('compares by numbers', () => {
  expect(isOlder('20.9.0', '20.19.0')).toBe(true);
  expect(isOlder('20.19.0', '20.19.0')).toBe(false);
  expect(isOlder('22.0.0', '20.19.0')).toBe(false);
  expect(isOlder('v1.2', '1.2.1')).toBe(true);
  expect(isOlder('no version', '1.0.0')).toBe(true);
});
