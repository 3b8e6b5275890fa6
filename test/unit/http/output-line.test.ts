// Lines of output as bytes are what JSON.stringify says of the same text.
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Utf8Pieces } from '../../../src/domain/utf8.ts';
import { escapedText, outputLine } from '../../../src/http/output-line.ts';

const expected = (stream: string, data: string) => `${JSON.stringify({ stream, data })}\n`;
const signs = fc.constantFrom(
  '\n',
  '"',
  '\\',
  '\u0000',
  '\u001f',
  ' ',
  '!',
  '\u007f',
  'a',
  'é',
  '\u2028',
  '😀',
);
/** Short texts are escaped in another way. */
const LONG = 'x'.repeat(600);

describe('outputLine', () => {
  it('equals JSON.stringify for every text', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('stdout', 'stderr'),
        fc.string({ unit: 'grapheme', maxLength: 200 }),
        fc.string({ unit: signs }),
        fc.constantFrom('', LONG),
        (stream, one, two, more) => {
          const text = Buffer.from(one + two + more + one + two).toString();
          expect(outputLine(stream, Buffer.from(text)).toString()).toBe(expected(stream, text));
          expect(escapedText(Buffer.from(text)).toString()).toBe(JSON.stringify(text).slice(1, -1));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it.each([0, LONG.length])(
    'escapes every byte that needs it at each of sixteen positions, after %i bytes',
    (before) => {
      for (let byte = 0; byte < 0x80; byte++) {
        for (let place = 0; place < 16; place++) {
          const text = `${'x'.repeat(before + place)}${String.fromCharCode(byte)}${'y'.repeat(byte % 18)}`;
          // Where the bytes lie in memory makes no difference.
          const bytes = Buffer.from(`${'-'.repeat(byte % 4)}${text}`).subarray(byte % 4);
          expect(outputLine('stdout', bytes).toString()).toBe(expected('stdout', text));
        }
      }
    },
  );

  it('writes any bytes, cut anywhere, as the text that they decode to', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.string({ unit: signs }).map((text) => new Uint8Array(Buffer.from(text))),
      fc.constant(new Uint8Array(Buffer.from(LONG))),
    );
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 12 }), fc.nat(900), (parts, size) => {
        const all = Buffer.concat(parts);
        const valid = new Utf8Pieces();
        const lines: Buffer[] = [];
        for (let at = 0; at < all.length; at += size + 1)
          lines.push(outputLine('stdout', valid.write(all.subarray(at, at + size + 1))));
        lines.push(outputLine('stdout', valid.end()));
        const text = lines.map((line) => JSON.parse(line.toString()).data).join('');
        expect(text).toBe(all.toString());
      }),
      { numRuns: 2000 },
    );
  });

  it.each([65_535, 65_536, 65_537, 200_000])(
    'writes %i escapes, and keeps nothing of the previous line',
    (size) => {
      const text = '\u0001'.repeat(size);
      const long = outputLine('stdout', Buffer.from(text));
      const after = outputLine('stderr', Buffer.from(LONG));
      const short = outputLine('stderr', Buffer.from('a'));
      expect(long.toString() === expected('stdout', text)).toBe(true);
      expect(after.toString()).toBe(expected('stderr', LONG));
      expect(short.toString()).toBe('{"stream":"stderr","data":"a"}\n');
      expect(outputLine('stdout', Buffer.alloc(0)).toString()).toBe(expected('stdout', ''));
    },
  );

  it('takes a text that ends within a character of the next slice', () => {
    const text = `${'x'.repeat(65_535)}é"${'\n'.repeat(65_535)}`;
    expect(outputLine('stdout', Buffer.from(text)).toString() === expected('stdout', text)).toBe(true);
  });
});

describe('without WebAssembly', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('writes the same', async () => {
    vi.stubGlobal('WebAssembly', undefined);
    vi.resetModules();
    const fresh = await import('../../../src/http/output-line.ts');
    const text = `${LONG}\u0001"é\n`;
    expect(fresh.outputLine('stdout', Buffer.from(text)).toString()).toBe(expected('stdout', text));
  });
});
