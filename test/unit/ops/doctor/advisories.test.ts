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
])('runc %s has %i advisories', (version, count) => {
  expect(advisoriesFor('runc', version)).toHaveLength(count);
  expect(advisoriesFor('crun', version)).toEqual([]);
});

it.each([
  ['containerd', '1.6.38', 1],
  ['containerd', '1.7.29', 0],
  ['containerd', '2.0.6', 1],
  ['containerd', '2.2.0', 0],
  ['dockerd', '20.10.24', 1],
  ['dockerd', '23.0.11', 0],
  ['dockerd', '24.0.9', 1],
  ['dockerd', '28.0.0', 0],
  ['bwrap', '0.8.0', 0],
  ['slirp4netns', '0.3.3', 1],
  ['slirp4netns', '1.2.0', 0],
  ['libslirp', '4.2.0', 3],
  ['libslirp', '4.7.0', 1],
  ['libslirp', '4.9.2', 0],
])('%s %s has %i advisories', (program, version, count) => {
  expect(advisoriesFor(program, version)).toHaveLength(count);
});

it('compares versions by number', () => {
  expect(isOlder('20.9.0', '20.19.0')).toBe(true);
  expect(isOlder('20.19.0', '20.19.0')).toBe(false);
  expect(isOlder('22.0.0', '20.19.0')).toBe(false);
  expect(isOlder('v1.2', '1.2.1')).toBe(true);
  expect(isOlder('no version', '1.0.0')).toBe(true);
});
