// Lines of JSON from outside: blank ones are skipped, all others are read.
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { jsonLines } from '../../../src/domain/json-lines.ts';

const FORMAT = {
  bytes: 1000,
  tooLong: () => new Error('too long'),
  structure: { depth: 4, tokens: 10 },
  read: (value: unknown) => value,
  invalid: () => new Error('invalid'),
};

async function linesOf(text: string): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const line of jsonLines(Readable.from([Buffer.from(text, 'latin1')]), FORMAT)) lines.push(line);
  return lines;
}

it('skips lines of nothing but white space', async () => {
  expect(await linesOf('{"a":1}\n\n \t\v\f\r\n\u00a0 \n  2 \n')).toEqual([{ a: 1 }, 2]);
});

it.each(['\b\n', '\u000e\n', ' \u0000\n', ' \u0085\n'])('reads %j as a line', async (text) => {
  await expect(linesOf(text)).rejects.toThrow('invalid');
});
