// The small rules: modes, images, fingerprints, cursors, byte ranges, admission.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resolveRange } from '../../../src/domain/byte-range.ts';
import { formatCursor, parseCursor } from '../../../src/domain/cursor.ts';
import { canonicalJson, fingerprint } from '../../../src/domain/fingerprint.ts';
import { parseImage } from '../../../src/domain/image.ts';
import { formatMode, parseMode } from '../../../src/domain/mode.ts';

const badRequest = expect.objectContaining({ name: 'ServiceError', code: 'bad_request' });

describe('modes', () => {
  it.each([
    ['644', 0o644, '644'],
    ['0755', 0o755, '755'],
    ['4755', 0o4755, '4755'],
    ['000', 0, '000'],
  ])('%s', (text, bits, back) => {
    expect(parseMode(text, 'mode')).toBe(bits);
    expect(formatMode(bits)).toBe(back);
  });
  it.each(['', '7', '64', '888', '00644', '0o644', ' 644', '644\n'])('refuse %j', (text) =>
    expect(() => parseMode(text, 'mode')).toThrow(badRequest),
  );
  it('drop the file type', () => expect(formatMode(0o100644)).toBe('644'));
});

describe('images', () => {
  it.each(['alpine:latest', 'registry.example:5000/team/app@sha256:abc', 'host'])('accept %s', (text) =>
    expect(parseImage(text, 'image')).toBe(text),
  );
  it.each(['', '-x', 'a b', 'a\n', '../x', '/x', 'a;b', 'x'.repeat(513)])('refuse %j', (text) =>
    expect(() => parseImage(text, 'image')).toThrow(badRequest),
  );
});

describe('fingerprints', () => {
  it('do not depend on the order of keys, at any depth', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }), (body) => {
        const turned = Object.fromEntries(Object.entries(body).reverse());
        expect(fingerprint('/p', { x: turned, y: 1 })).toBe(fingerprint('/p', { y: 1, x: turned }));
        expect(canonicalJson(turned)).toBe(canonicalJson(body));
      }),
      { numRuns: 1000 },
    );
  });
  it('depend on everything else', () => {
    const bodies = [
      {},
      { a: 1 },
      { a: '1' },
      { a: [1, 2] },
      { a: [2, 1] },
      JSON.parse('{"__proto__":{"a":1}}'),
    ];
    const all = [...bodies.map((body) => fingerprint('/p', body)), fingerprint('/q', {})];
    expect(new Set(all).size).toBe(all.length);
  });
  it('treat undefined as absent', () =>
    expect(fingerprint('/p', { a: undefined })).toBe(fingerprint('/p', {})));
});

describe('cursors', () => {
  const place = { created_at: '2026-01-02T03:04:05.678Z', id: 'sb-abc' };
  it('read back unchanged', () => expect(parseCursor(formatCursor(place))).toEqual(place));
  it.each([
    '',
    'x',
    `${formatCursor(place)}=`,
    ` ${formatCursor(place)}`,
    formatCursor({ ...place, id: '' }),
    formatCursor({ ...place, created_at: 'now' }),
  ])('refuse %j', (text) => expect(() => parseCursor(text)).toThrow(badRequest));
  it('read back unchanged or are refused, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => {
        try {
          expect(parseCursor(formatCursor(parseCursor(text)))).toEqual(parseCursor(text));
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad_request' });
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('byte ranges', () => {
  it.each([
    [{ first: 0 }, 10, [0, 9]],
    [{ first: 9 }, 10, [9, 9]],
    [{ first: 2, last: 3 }, 10, [2, 3]],
    [{ first: 2, last: 99 }, 10, [2, 9]],
    [{ suffix: 3 }, 10, [7, 9]],
    [{ suffix: 30 }, 10, [0, 9]],
  ])('%j of %d', (range, size, [first, last]) => expect(resolveRange(range, size)).toEqual({ first, last }));
  it.each([
    [{ first: 10 }, 10],
    [{ first: 0 }, 0],
    [{ suffix: 0 }, 10],
    [{ suffix: 5 }, 0],
    [{ first: 3, last: 2 }, 10],
  ])('%j of %d answers 416', (range, size) =>
    expect(() => resolveRange(range, size)).toThrow(
      expect.objectContaining({ code: 'bad_request', status: 416, details: { size } }),
    ),
  );
});
