// The text of named keys.
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { keyHash, newKeyText, shownPrefix } from '../../../src/domain/key-text.ts';
import { realRandom } from '../../../src/host/random.ts';

const bytes = (value: number) => ({ bytes: (count: number) => Buffer.alloc(count, value) });

describe('a key of the svc form', () => {
  it('has 43 random digits and a checksum', () => {
    const text = newKeyText('svc', realRandom());
    expect(text).toMatch(/^svc_[0-9A-Za-z]{49}$/);
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const check = [...text.slice(47)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(check).toBe(crc32(text.slice(4, 47)));
  });

  it('holds every bit of its random bytes', () => {
    expect(newKeyText('svc', bytes(0)).slice(0, 47)).toBe(`svc_${'0'.repeat(43)}`);
    const largest = newKeyText('svc', bytes(255)).slice(4, 47);
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const value = [...largest].reduce((sum, digit) => sum * 62n + BigInt(digits.indexOf(digit)), 0n);
    expect(value).toBe(2n ** 256n - 1n);
  });
});

it('a key of the E2B form passes the check of older E2B SDKs', () => {
  expect(newKeyText('e2b', realRandom())).toMatch(/^e2b_[0-9a-f]{40}$/);
});

it('a stored key has a hash and shows a few characters', () => {
  expect(keyHash('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(shownPrefix('svc_0123456789')).toBe('svc_0123');
});
