// Lines out of pieces: a line may span pieces, and no byte of it shows up in another line.
import { expect, it } from 'vitest';
import { byteLines } from '../../../src/domain/byte-lines.ts';

const BOUND = { bytes: 16, tooLong: () => new Error('too long') };

async function linesOf(...pieces: string[]): Promise<string[]> {
  const source = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  const lines: string[] = [];
  for await (const line of byteLines(source, BOUND)) lines.push(line.toString());
  return lines;
}

it('separates lines that each span several pieces', async () => {
  expect(await linesOf('a', 'b\nc', 'd\ne', 'f')).toEqual(['ab', 'cd', 'ef']);
});

it('applies the bound to each line, not to their sum', async () => {
  expect(await linesOf('0123456789', 'abc\n0123', '456789\n')).toEqual(['0123456789abc', '0123456789']);
  await expect(linesOf('0123456789', 'abcdefg\n')).rejects.toThrow('too long');
});
