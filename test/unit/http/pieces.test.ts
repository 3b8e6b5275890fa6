// Large JSON in pieces: the same text as JSON.stringify makes, whatever the blocks and cuts, and no piece large.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CappedOutput, OutputText } from '../../../src/domain/output.ts';
import { listPieces, PIECE, textPieces, withOutputs } from '../../../src/http/pieces.ts';

const all = (pieces: Iterable<Buffer>) => Buffer.concat([...pieces]).toString();
const largest = (pieces: Iterable<Buffer>) => Math.max(...[...pieces].map(({ length }) => length));

function cutUp(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const blocks: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    blocks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...blocks, bytes.subarray(at)];
}

const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.string({ unit: 'binary', maxLength: 200 }).map((text) => Buffer.from(text)),
);

describe('outputs', () => {
  it('equal JSON.stringify of the decoded text, for any bytes and blocks', () => {
    fc.assert(
      fc.property(
        anyBytes,
        fc.array(fc.nat(40)),
        fc.constantFrom('utf8', 'base64'),
        (bytes, sizes, encoding) => {
          const output = new OutputText(cutUp(bytes, sizes), encoding, false);
          const wanted = { a: 1, b: undefined, stdout: bytes.toString(encoding), details: { x: 'y' } };
          expect(all(withOutputs({ ...wanted, stdout: output }))).toBe(JSON.stringify(wanted));
          expect(all(withOutputs({ details: { e: 1, stdout: output } }))).toBe(
            JSON.stringify({ details: { e: 1, stdout: wanted.stdout } }),
          );
          expect(JSON.stringify({ stdout: output })).toBe(JSON.stringify({ stdout: wanted.stdout }));
        },
      ),
    );
  });

  it.each(['utf8', 'base64'] as const)('of megabytes in %s are written in small pieces', (encoding) => {
    const kept = new CappedOutput(3_000_001);
    for (let n = 0; n < 50; n++) kept.add(Buffer.alloc(70_001));
    const pieces = [...withOutputs({ stdout: kept.as(encoding) })];
    expect(largest(pieces)).toBeLessThan(4 * PIECE);
    const { stdout } = JSON.parse(all(pieces)) as { stdout: string };
    expect(Buffer.from(stdout, encoding).equals(Buffer.alloc(3_000_001))).toBe(true);
  });

  it('omit a character that the cap cut, and replace one that the program cut', () => {
    const euro = Buffer.from('€€');
    const cut = new CappedOutput(5);
    cut.add(euro);
    expect(String(cut.as('utf8'))).toBe('€');
    const incomplete = new CappedOutput(100);
    incomplete.add(euro.subarray(0, 5));
    expect(String(incomplete.as('utf8'))).toBe('€\ufffd');
  });

  it('keep no more bytes than they account for, for pieces of any size', () => {
    let granted = 0;
    const growUpTo = (bytes: number) => {
      granted += bytes;
      return bytes;
    };
    const kept = new CappedOutput(1_000_000, { growUpTo });
    const slab = Buffer.alloc(65_536, 'x');
    for (let n = 0; n < 10_000; n++) kept.add(slab.subarray(n, n + 1));
    expect(granted).toBeLessThan(10_000 + 65_536 + 4096);
    expect(kept.as('utf8').size).toBe(10_000);
    expect([...kept.as('utf8').pieces()].every(({ buffer }) => buffer !== slab.buffer)).toBe(true);
  });
});

it('lists are written entry by entry', () => {
  const entries = Array.from({ length: 5_000 }, (_, n) => ({ n, text: '\u0001€😀'.repeat(20) }));
  const pieces = [...listPieces(entries, (entry) => JSON.stringify(entry))];
  expect(all(pieces)).toBe(JSON.stringify(entries));
  expect(largest(pieces)).toBeLessThan(4 * PIECE);
  expect(all(listPieces([], String))).toBe('[]');
});

it('text is cut only between characters', () => {
  for (const shift of [0, 1, 2]) {
    const text = 'x'.repeat(shift) + '😀'.repeat(PIECE);
    expect(all(textPieces(text))).toBe(text);
  }
});
