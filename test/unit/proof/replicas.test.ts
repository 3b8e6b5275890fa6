// How the campaign of faults in a fleet arranges its faults.
import { expect, it } from 'vitest';
import { ordered } from '../../../proof/replicas/campaign.ts';
import { FAULTS, roundsOf } from '../../../proof/replicas/faults.ts';

it('tries a fault of a server and one of a worker at the same time, and each other fault alone', () => {
  expect(
    roundsOf(['server killed', 'server frozen', 'etcd killed', 'worker frozen', 'all killed at once']),
  ).toEqual([['server killed', 'worker frozen'], ['server frozen'], ['etcd killed'], ['all killed at once']]);
});

it.each([1, 2, 3])('tries each fault once in a run, whatever the seed: %d', (seed) => {
  const rounds = roundsOf(ordered(seed));
  expect(rounds.flat().sort()).toEqual([...FAULTS.keys()].sort());
  expect(rounds.filter((faults) => faults.length > 1)).toHaveLength(4);
});
