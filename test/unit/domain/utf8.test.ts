// Bytes cut into pieces anywhere, valid or not: what comes out is what decoding all of them at once says.
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Utf8Pieces } from '../../../src/domain/utf8.ts';

/** Bytes that are nearly text: characters of all lengths, broken ones and bytes that begin or go on with nothing. */
const parts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => Buffer.from(text)),
  fc
    .constantFrom(
      'c3',
      '80',
      'bf',
      'e2',
      'e282',
      'e080',
      'eda080',
      'f0',
      'f09f',
      'f09f98',
      'f48fbf',
      'f5',
      'ff',
    )
    .map((hex) => Buffer.from(hex, 'hex')),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
);

describe('Utf8Pieces', () => {
  it('decodes pieces like the entire text, in valid pieces, wherever they are cut', () => {
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), (pieces) => {
        const text = new Utf8Pieces();
        const said = [...pieces.map((piece) => text.write(piece)), text.end()];
        expect(said.every((bytes) => isUtf8(bytes))).toBe(true);
        expect(Buffer.concat(said).toString()).toBe(Buffer.concat(pieces).toString());
      }),
      { numRuns: 5000 },
    );
  });

  it('holds only the start of a cut character, and copies nothing else', () => {
    const text = new Utf8Pieces();
    const data = Buffer.from([0x61, 0xe2, 0x82]);
    expect(text.write(data)).toEqual(Buffer.from('a'));
    expect(text.write(Buffer.from([0xac, 0x62]))).toEqual(Buffer.from('€b'));
    const plain = Buffer.from('plain');
    expect(text.write(plain).buffer).toBe(plain.buffer);
    expect(text.end()).toHaveLength(0);
  });
});
