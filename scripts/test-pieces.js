// Slow suites in pieces that take about as long as each other, for lanes that run side by side (scripts/test.js).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.js';

/** A piece takes about as long as this: long beside its start, with an engine and a database of its own. */
const PIECE_SECONDS = 400;
/** Pieces of the suite that runs last are short, so that lanes end together. */
const LAST = { suite: 'fault', seconds: 130 };
/** A file that `scripts/test-seconds.json` does not name. */
const QUICK_SECONDS = 8;

/** Seconds of slow files in a run of all suites. `SVC_TEST_SECONDS=write npm test` writes them again. */
const SECONDS_FILE = join(root, 'scripts/test-seconds.json');
/** Files that take less are not in the table. */
const SLOW_SECONDS = 20;

/** Test files of a suite, by their paths in the repository. */
function filesOf(suite) {
  return readdirSync(join(root, 'test', suite), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${suite}/${name}`)
    .sort();
}

/** The files of `suite` in pieces, slowest files first; each file is in one piece. */
export function piecesOf(suite) {
  const table = JSON.parse(readFileSync(SECONDS_FILE, 'utf8'));
  const seconds = suite === LAST.suite ? LAST.seconds : PIECE_SECONDS;
  return balanced(filesOf(suite), (file) => table[file] ?? QUICK_SECONDS, seconds);
}

/**
 * Each file goes to the piece that is shortest so far.
 * @param {readonly string[]} files
 * @param {(file: string) => number} secondsOf
 * @param {number} [each] seconds of a piece
 */
export function balanced(files, secondsOf, each = PIECE_SECONDS) {
  const total = files.reduce((sum, file) => sum + secondsOf(file), 0);
  const count = Math.max(1, Math.ceil(total / each));
  const pieces = Array.from({ length: count }, () => ({ files: /** @type {string[]} */ ([]), seconds: 0 }));
  for (const file of files.toSorted((a, b) => secondsOf(b) - secondsOf(a))) {
    const piece = pieces.reduce((least, other) => (other.seconds < least.seconds ? other : least));
    piece.files.push(file);
    piece.seconds += secondsOf(file);
  }
  return pieces;
}

/**
 * Writes the table from the files of a complete run.
 * @param {readonly {file: string, seconds: number}[]} files
 */
export function writeSeconds(files) {
  const slow = files
    .filter(({ seconds }) => seconds >= SLOW_SECONDS)
    .sort((a, b) => (a.file < b.file ? -1 : 1));
  const table = Object.fromEntries(slow.map(({ file, seconds }) => [file, seconds]));
  writeFileSync(SECONDS_FILE, `${JSON.stringify(table, null, 2)}\n`);
}
