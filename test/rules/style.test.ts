// Sentences that reach a person avoid the words of scripts/house/words.js: the folders below are clean and stay so.
import { describe, expect, it } from 'vitest';
import { cyclicGroups } from '../../scripts/house/graph.js';
import { violationsIn, violationsOf } from '../../scripts/house/sentences.js';
import { sourceOf, sourcesBelow } from '../../scripts/house/sources.js';
import { packageRoot } from '../../src/host/package-root.ts';

const PLAIN = ['src', 'commands', 'bench', 'scripts', 'agent/src'];

function violations(kind: 'string' | 'comment', paths: readonly string[]): string[] {
  return sourcesBelow(packageRoot(), ...paths)
    .filter(({ path }) => path !== 'scripts/house/words.js')
    .flatMap(violationsIn)
    .filter((found) => found.kind === kind)
    .map(({ path, line, name, text }) => `${path}:${line} [${name}] ${text}`);
}

it('strings use plain words', () => {
  expect(violations('string', PLAIN)).toEqual([]);
});

it('comments use plain words', () => {
  expect(violations('comment', PLAIN)).toEqual([]);
});

describe('ruled-out words', () => {
  const found = (text: string) =>
    violationsIn(sourceOf('src/a.ts', text)).map(({ kind, name }) => `${kind} ${name}`);

  it.each([
    ["fail('rpc_url is no URL.');", 'string is no'],
    ['log.warn(`The end was not told.`);', 'string told'],
    ["const summary = 'The whole old database.';", 'string whole'],
    ["log.warn({}, 'A heartbeat failed; it is tried again.');", 'string is … again'],
    ['// Nothing that waits is let be.', 'comment let be'],
    ['/** Of the package. */ const x = 1;', 'comment fragment'],
    ['const whatIsTold = 1;', 'name identifier'],
    ['class A { #heard = 1; }', 'name identifier'],
  ])('are found in %s', (text, expected) => {
    expect(found(text)).toContain(expected);
  });

  it.each([
    ["fail('There is no sandbox with this id; it is no longer running.');"],
    ["const text = 'A whole number; the file is replaced in place.';"],
    ["const sql = 'SELECT told FROM place WHERE whole = 1';"],
    ["const field = 'gone';"],
    ['// The state is `gone`.'],
    ['const place = 1;'],
  ])('are not found in %s', (text) => {
    expect(found(text)).toEqual([]);
  });

  it('are found in prose', () => {
    expect(violationsOf('a.md', { line: 1, text: 'What there is.', kind: 'comment' })).toHaveLength(1);
  });
});

it('finds cycles of references', () => {
  const graph = new Map([
    ['a', ['b', 'd']],
    ['b', ['c']],
    ['c', ['a']],
    ['d', ['e', 'f']],
    ['e', ['d']],
    ['f', []],
  ]);
  expect(cyclicGroups(graph)).toEqual([
    ['a', 'b', 'c'],
    ['d', 'e'],
  ]);
});
