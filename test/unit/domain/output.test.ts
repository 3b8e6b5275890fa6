// Output cut into pieces anywhere.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CappedOutput, outputDecoder } from '../../../src/domain/output.ts';

const chunked = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.array(fc.nat(7), { maxLength: 60 }))
  .map(([text, cuts]) => {
    const bytes = Buffer.from(text);
    const pieces: Buffer[] = [];
    let at = 0;
    for (const size of cuts) {
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    return { text: bytes.toString(), bytes, pieces: [...pieces, bytes.subarray(at)] };
  });

describe('outputDecoder', () => {
  it('decodes text cut anywhere completely, with no half character in a piece', () => {
    fc.assert(
      fc.property(chunked, ({ text, pieces }) => {
        const decoder = outputDecoder('utf8');
        const said = pieces.map((piece) => decoder.write(piece));
        expect([...said, decoder.end()].join('')).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  it('writes base64 pieces that decode separately', () => {
    fc.assert(
      fc.property(chunked, ({ bytes, pieces }) => {
        const decoder = outputDecoder('base64');
        const back = pieces.map((piece) => Buffer.from(decoder.write(piece), 'base64'));
        expect(Buffer.concat(back)).toEqual(bytes);
        expect(decoder.end()).toBe('');
      }),
    );
  });

  it('replaces an incomplete end', () => {
    const decoder = outputDecoder('utf8');
    expect(decoder.write(Buffer.from([0x61, 0xe2, 0x82]))).toBe('a');
    expect(decoder.end()).toBe('\ufffd');
  });
});

describe('CappedOutput', () => {
  it('keeps the start, reports the cut, and cuts no character', () => {
    const valid = chunked.filter(({ text }) => !text.includes('\ufffd'));
    fc.assert(
      fc.property(valid, fc.nat(80), ({ bytes, pieces }, cap) => {
        const kept = new CappedOutput(cap);
        for (const piece of pieces) kept.add(piece);
        expect(kept.truncated).toBe(bytes.length > cap);
        expect(Buffer.from(kept.text('base64'), 'base64')).toEqual(bytes.subarray(0, cap));
        expect(kept.text('utf8')).not.toContain('\ufffd');
        expect(bytes.toString().startsWith(kept.text('utf8'))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('replaces invalid bytes of the program', () => {
    const kept = new CappedOutput(10);
    kept.add(Buffer.from([0xff, 0x61, 0xe2]));
    expect(kept.text('utf8')).toBe('\ufffda\ufffd');
  });
});
