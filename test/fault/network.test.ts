// Networks of namespaces that tests and proofs use.
import { expect, it } from 'vitest';
import { network } from '../support/hosts/network.ts';
import { describeWith } from '../support/requires.ts';

describeWith(['root'], 'a network of namespaces', () => {
  it('can be made again as soon as it was removed', () => {
    for (let round = 0; round < 5; round++) {
      const made = network();
      const host = made.host('one');
      expect(host.pids()).toEqual([]);
      made.remove();
    }
  });
});
