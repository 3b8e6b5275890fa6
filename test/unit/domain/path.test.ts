// Paths inside sandboxes, against an independent normaliser.
import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePath, parsePattern } from '../../../src/domain/path.ts';

const part = fc.oneof(
  fc.constantFrom('.', '..', '', 'a', '...', ' ', '\n', '%2e', '\\', '~'),
  fc.string({ maxLength: 8 }),
);
const hostile = fc.array(part, { maxLength: 12 }).map((parts) => `/${parts.join('/')}`);

describe('parsePath', () => {
  it.each([
    ['/', '/'],
    ['/a/', '/a'],
    ['//a///b', '/a/b'],
    ['/a/./b/../c', '/a/c'],
    ['/../../etc', '/etc'],
    ['/...', '/...'],
    ['/a b\n', '/a b\n'],
    ['/%2e%2e', '/%2e%2e'],
    ['/a\\..\\b', '/a\\..\\b'],
  ])('%j is %j', (text, path) => expect(parsePath(text, 'path')).toBe(path));

  it.each(['', 'a', './a', '\\a', ' /a', '/a\0b', '/\ud800', `/${'x'.repeat(4096)}`, `/${'é'.repeat(2048)}`])(
    'refuses %j',
    (text) => expect(() => parsePath(text, 'path')).toThrow(expect.objectContaining({ code: 'bad_request' })),
  );

  it('accepts 4096 bytes', () => expect(parsePath(`/${'x'.repeat(4095)}`, 'path')).toHaveLength(4096));

  it('agrees with an independent normaliser, also on its own result', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        if (text.includes('\0')) return;
        const path = parsePath(text, 'path');
        expect(path).toBe(posix.resolve('/', posix.normalize(text)));
        expect(parsePath(path, 'path')).toBe(path);
        expect(`${path}/`).not.toMatch(/\/\.{0,2}\/./);
      }),
      { numRuns: 5000 },
    );
  });

  it('fails only with bad_request', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        try {
          expect(parsePath(text, 'path')).toMatch(/^\//);
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad_request' });
        }
      }),
      { numRuns: 3000 },
    );
  });
});

describe('parsePattern', () => {
  it('leaves a pattern unchanged', () =>
    expect(parsePattern('/a/{b/c,d}//../*', 'pattern')).toBe('/a/{b/c,d}//../*'));
  it.each(['*', '', '/a\0', `/${'*'.repeat(4096)}`])('refuses %j', (text) =>
    expect(() => parsePattern(text, 'pattern')).toThrow(expect.objectContaining({ code: 'bad_request' })),
  );
});
