// What a key leaves to guess: every honest writing of 32 random bytes is enough, what people make up is not.
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { ENOUGH_BITS, isPlaceholder, keyBits } from '../../../../src/ops/lint/key-strength.ts';

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';
/** Not random, but as even, and the same at each run. */
const bytes = (seed: number) => createHash('sha256').update(String(seed)).digest();
const base32 = (from: Buffer) =>
  [...BigInt(`0x${from.toString('hex')}`).toString(32)]
    .map((digit) => BASE32[Number.parseInt(digit, 32)])
    .join('');

const WRITINGS: Record<string, (from: Buffer) => string> = {
  hex: (from) => from.toString('hex'),
  'capital hex': (from) => from.toString('hex').toUpperCase(),
  base32,
  base64: (from) => from.toString('base64'),
  base64url: (from) => from.toString('base64url'),
};

it.each(Object.entries(WRITINGS))('32 bytes in %s are always strong enough', (_, write) => {
  for (let seed = 0; seed < 2000; seed++) {
    const key = write(bytes(seed));
    expect(keyBits(key), key).toBeGreaterThan(ENOUGH_BITS);
    expect(isPlaceholder(key), key).toBe(false);
  }
});

it.each(Object.entries(WRITINGS))('16 bytes in %s are never strong enough', (_, write) => {
  for (let seed = 0; seed < 2000; seed++)
    expect(keyBits(write(bytes(seed).subarray(0, 16)))).toBeLessThan(ENOUGH_BITS);
});

it.each([
  '',
  'a',
  'a'.repeat(500),
  'abc'.repeat(200),
  '0123456789'.repeat(50),
  'abcdefghijklmnopqrstuvwxyz'.repeat(9),
  'zyxwvutsrqponmlkjihgfedcba'.repeat(9),
  'correct horse battery staple',
  'S3cure!S3cure!S3cure!S3cure!S3cure!S3cure!S3cure!',
])('%s is too weak', (key) => {
  expect(keyBits(key)).toBeLessThan(ENOUGH_BITS);
});

it.each([
  'changeme',
  'CHANGE-ME-please',
  'replace_with_key',
  'your-api-key',
  'my-secret-key',
  'test',
  'admin',
  'xxxxx',
  '<key>',
  '$' + '{API_KEY}',
  'password',
])('%s is a placeholder', (key) => {
  expect(isPlaceholder(key)).toBe(true);
});
