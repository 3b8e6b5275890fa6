// What a spawn does about its image, by configuration, request and worker.
import { expect, it } from 'vitest';
import { imagePolicy, limitedPolicy } from '../../../src/domain/image-policy.ts';

it.each([
  ['never', undefined, 'optional'],
  ['never', 'never', 'optional'],
  ['missing', undefined, 'missing'],
  ['missing', 'never', 'present'],
  ['missing', 'missing', 'missing'],
  ['always', undefined, 'always'],
  ['always', 'missing', 'missing'],
  ['always', 'never', 'present'],
] as const)('makes of images.pull %s and the wish %s the policy %s', (configured, wish, policy) => {
  expect(imagePolicy(configured, wish)).toBe(policy);
});

it.each([
  ['never', 'missing'],
  ['never', 'always'],
  ['missing', 'always'],
] as const)('refuses with images.pull %s the wish %s', (configured, wish) => {
  expect(() => imagePolicy(configured, wish)).toThrow(
    `pull is ${wish}, but this server allows at most ${configured}.`,
  );
});

it.each([
  ['optional', 'always', 'optional'],
  ['present', 'always', 'present'],
  ['always', 'missing', 'missing'],
  ['missing', 'always', 'missing'],
  ['missing', 'never', 'present'],
  ['always', 'never', 'present'],
] as const)('limits %s on a worker with images.pull %s to %s', (policy, configured, limited) => {
  expect(limitedPolicy(policy, configured)).toBe(limited);
});
