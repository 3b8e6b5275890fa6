// The secret of an agent is found again by whoever has the instance's key, and by nobody else.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { agentSecret } from '../../../src/domain/agent-secret.ts';

const KEY = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

it('never changes between versions: a running sandbox must be found by a newer server', () => {
  expect(agentSecret(KEY, 'sb-aaaaaaaaaaaa', 1).toString('hex')).toBe('75595eea2b2d5d81ae72bac59060f241');
});

it('is 16 bytes without a zero, for any id and epoch', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(), (id, epoch) => {
      const secret = agentSecret(KEY, id, epoch);
      expect(secret.length).toBe(16);
      expect(secret.includes(0)).toBe(false);
    }),
    { numRuns: 2000 },
  );
});

it('differs by key, sandbox and epoch', () => {
  const secrets = [
    agentSecret(KEY, 'sb-a', 1),
    agentSecret(KEY, 'sb-a', 2),
    agentSecret(KEY, 'sb-b', 1),
    agentSecret('ff'.repeat(32), 'sb-a', 1),
  ].map((secret) => secret.toString('hex'));
  expect(new Set(secrets).size).toBe(4);
});
