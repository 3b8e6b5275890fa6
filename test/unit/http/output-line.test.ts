// Lines of output as bytes are what JSON.stringify says of the same text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { outputLine } from '../../../src/http/output-line.ts';

const expected = (stream: string, data: string) => `${JSON.stringify({ stream, data })}\n`;

describe('outputLine', () => {
  it('equals JSON.stringify for every text', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('stdout', 'stderr'),
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.string({
          unit: fc.constantFrom('\n', '"', '\\', '\u0000', '\u001f', '\u007f', 'a', 'é', '\u2028', '😀'),
        }),
        (stream, one, two) => {
          const text = Buffer.from(one + two + one).toString();
          expect(outputLine(stream, Buffer.from(text)).toString()).toBe(expected(stream, text));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('escapes every byte that needs it at each of four positions', () => {
    for (let byte = 0; byte < 0x80; byte++) {
      for (let place = 0; place < 4; place++) {
        const text = `${'x'.repeat(place)}${String.fromCharCode(byte)}${'y'.repeat(6)}`;
        // Where the bytes lie in memory makes no difference.
        const bytes = Buffer.from(`${'-'.repeat(byte % 4)}${text}`).subarray(byte % 4);
        expect(outputLine('stdout', bytes).toString()).toBe(expected('stdout', text));
      }
    }
  });

  it('encodes long texts of escapes, and keeps nothing of the previous line', () => {
    const text = '\u0001'.repeat(200_000);
    const long = outputLine('stdout', Buffer.from(text));
    const short = outputLine('stderr', Buffer.from('a'));
    expect(long.toString()).toBe(expected('stdout', text));
    expect(short.toString()).toBe('{"stream":"stderr","data":"a"}\n');
    expect(outputLine('stdout', Buffer.alloc(0)).toString()).toBe(expected('stdout', ''));
  });
});
