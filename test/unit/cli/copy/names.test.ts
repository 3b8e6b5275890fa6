// Names of strangers: what may become part of a path here, and which links stay inside.
import { posix } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isPlainName, namesContent, pathBelow, staysInside } from '../../../../src/cli/copy/endpoint.ts';

it.each(['a', '...', '.hidden', 'a b', '\u001b[2J', 'CON', 'a\\b', 'a:b'])('%j is a plain name', (name) => {
  expect(isPlainName(name, 'linux')).toBe(true);
});

it.each(['', '.', '..', 'a/b', '/', 'a\0b'])('%j is not a plain name', (name) => {
  expect(isPlainName(name, 'linux')).toBe(false);
});

it.each(['CON', 'nul.txt', 'com1', 'LPT9.x', 'a\\b', '..\\x', 'c:', 'file:stream', 'dot.', 'space '])(
  '%j is not a plain name on Windows',
  (name) => {
    expect(isPlainName(name, 'win32')).toBe(false);
  },
);

it.each([
  ['/w', '/w/a', 'a'],
  ['/w', '/w/a/b', 'a/b'],
  ['/', '/a', 'a'],
  ['/w', '/w', undefined],
  ['/w', '/wx/a', undefined],
  ['/w', '/w/../etc/passwd', undefined],
  ['/w', '/w//etc', undefined],
  ['/w', '/etc/passwd', undefined],
  ['/w', 'w/a', undefined],
  ['/w', '/w/a/', undefined],
  ['/w', '/w/./a', undefined],
])('below %s, %s is %s', (root, path, place) => {
  expect(pathBelow(root, path, 'linux')).toBe(place);
});

it('never returns a path that leads out', () => {
  const part = fc.constantFrom('', '.', '..', 'a', '/', '\0', '…', 'w');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const at = pathBelow('/w', `/w/${parts.join('/')}`);
      return at === undefined || posix.join('/root', at).startsWith('/root/');
    }),
  );
});

it.each([
  ['l', 'a'],
  ['l', './a/b'],
  ['d/l', '../a'],
  ['d/e/l', '../../a/b'],
  ['l', '.'],
  ['d/l', '..'],
])('the link %s to %s stays inside', (at, to) => {
  expect(staysInside(at, to)).toBe(true);
});

it.each([
  ['l', ''],
  ['l', '/etc'],
  ['l', '..'],
  ['l', '../x'],
  ['d/l', '../../x'],
  ['l', 'a/../../x'],
  ['d/l', 'self/../..'],
  ['l', './../x'],
  ['l', '..\\x'],
])('the link %s to %s leads out', (at, to) => {
  expect(staysInside(at, to)).toBe(false);
});

it.each([
  ['a/.', true],
  ['.', true],
  ['..', true],
  ['a/../', true],
  ['a', false],
  ['a/', false],
  ['a.', false],
  ['a/.b', false],
])('%s names the content of a folder: %s', (path, content) => {
  expect(namesContent(path)).toBe(content);
});
