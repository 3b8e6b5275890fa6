// Pieces of slow suites: a run of all of them leaves no file out.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { balanced, piecesOf } from '../../../scripts/test-pieces.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const testFiles = (suite: string) =>
  readdirSync(join(root, 'test', suite), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${suite}/${name}`);

it.each(['contract', 'e2e', 'fault'])('have each file of %s once', (suite) => {
  const files = piecesOf(suite).flatMap((piece) => piece.files);
  expect(files.toSorted()).toEqual(testFiles(suite).toSorted());
});

it('take about as long as each other, slowest files first', () => {
  const seconds: Record<string, number> = { a: 300, b: 290, c: 200, d: 190, e: 10, f: 10 };
  const pieces = balanced(Object.keys(seconds), (file) => seconds[file] ?? 0);
  expect(pieces.map(({ seconds: sum }) => sum)).toEqual([310, 300, 390]);
  expect(pieces.map(({ files }) => files)).toEqual([
    ['a', 'f'],
    ['b', 'e'],
    ['c', 'd'],
  ]);
});

it('are made by times of files that exist', () => {
  const table = JSON.parse(readFileSync(join(root, 'scripts/test-seconds.json'), 'utf8'));
  const files = ['contract', 'e2e', 'fault', 'rules', 'unit'].flatMap(testFiles);
  expect(Object.keys(table).filter((file) => !files.includes(file))).toEqual([]);
});
