// Tokens and signed links of the data plane.
import { expect, it } from 'vitest';
import {
  dataToken,
  dataTokenKey,
  fileSignature,
  isSameText,
  sandboxOfToken,
} from '../../../src/domain/data-token.ts';

const key = dataTokenKey('ab'.repeat(32));
const ID = 'sb-aaaaaaaaaaaa';

it('opens the sandbox that it was made for, and only for its purpose', () => {
  const token = dataToken(key, 'access', ID);
  expect(sandboxOfToken(key, 'access', token)).toBe(ID);
  expect(sandboxOfToken(key, 'traffic', token)).toBeUndefined();
  expect(sandboxOfToken(dataTokenKey('cd'.repeat(32)), 'access', token)).toBeUndefined();
});

it('opens nothing when any part is changed', () => {
  const token = dataToken(key, 'access', ID);
  const forged = [
    token.replace(ID, 'sb-bbbbbbbbbbbb'),
    `${token.slice(0, -2)}AA`,
    token.slice(0, -1),
    `${token}x`,
    ID,
    '',
    '.',
    `${ID}.`,
  ];
  expect(forged.map((one) => sandboxOfToken(key, 'access', one))).toEqual(forged.map(() => undefined));
});

it('signs a link as the SDKs do', () => {
  const file = { path: 'hello.txt', operation: 'read', user: 'user' } as const;
  expect(fileSignature('0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0', file)).toBe(
    'v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E',
  );
  expect(isSameText('abc', 'abc')).toBe(true);
  expect([isSameText('abc', 'abd'), isSameText('abc', 'abcd'), isSameText('', 'a')]).toEqual([
    false,
    false,
    false,
  ]);
});
