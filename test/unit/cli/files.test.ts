// What file commands understand of words, and how they show files.
import { expect, it } from 'vitest';
import { insidePath } from '../../../src/cli/args.ts';
import { parseEndpoint } from '../../../src/cli/copy/copy.ts';
import { fileTable, modeText } from '../../../src/cli/file-view.ts';
import { localFailure } from '../../../src/cli/local-failure.ts';
import type { FileInfo } from '../../../src/schema/file.ts';

it.each([
  ['sb-a:/x', { kind: 'sandbox', id: 'sb-a', path: '/x' }],
  ['sb_a:x:y', { kind: 'sandbox', id: 'sb_a', path: '/workspace/x:y' }],
  ['-', { kind: 'standard' }],
  ['./sb-a:x', { kind: 'local', path: './sb-a:x' }],
  ['dir/sb-a:x', { kind: 'local', path: 'dir/sb-a:x' }],
  ['C:x', { kind: 'local', path: 'C:x' }],
  ['sb-a', { kind: 'local', path: 'sb-a' }],
])('%s is an endpoint', (text, place) => {
  expect(parseEndpoint(text)).toEqual(place);
});

it.each(['', 'sb-a:'])('%j is not an endpoint', (text) => {
  expect(() => parseEndpoint(text)).toThrow('The path is empty.');
});

it('resolves relative paths below /workspace', () => {
  expect(['a', './a', '/a', '**/*.c'].map(insidePath)).toEqual([
    '/workspace/a',
    '/workspace/./a',
    '/a',
    '/workspace/**/*.c',
  ]);
});

it.each([
  ['file', '644', '-rw-r--r--'],
  ['dir', '1777', 'drwxrwxrwt'],
  ['file', '4755', '-rwsr-xr-x'],
  ['file', '6644', '-rwSr-Sr--'],
  ['symlink', '777', 'lrwxrwxrwx'],
  ['other', '000', '?---------'],
] as const)('%s %s is %s', (type, mode, text) => {
  expect(modeText({ type, mode })).toBe(text);
});

it('shows names relative to the folder, and escapes hostile ones', () => {
  const file = (path: string, facts: Partial<FileInfo> = {}): FileInfo => ({
    ...{ path, name: 'x', size: 12, mode: '644', is_dir: false, type: 'file' },
    ...{ mod_time: '2026-01-02T03:04:05.678Z', ...facts },
  });
  const files = [
    file('/w/a/b\u001b[2J'),
    file('/w/l', { type: 'symlink', mode: '777', size: 3, symlink_target: '/etc\n' }),
  ];
  expect(fileTable(files, '/w').split('\n')).toEqual([
    'MODE        SIZE  MODIFIED              NAME',
    '-rw-r--r--    12  2026-01-02T03:04:05Z  a/b\\x1b[2J',
    'lrwxrwxrwx     3  2026-01-02T03:04:05Z  l -> /etc\\n',
  ]);
});

it('maps local disk errors to error codes', () => {
  const failure = (code: string) => Object.assign(new Error(code), { code, syscall: 'open' });
  const codes = ['ENOENT', 'EACCES', 'ENOSPC', 'EISDIR', 'EIO'];
  expect(codes.map((code) => (localFailure(failure(code)) as { code: string }).code)).toEqual([
    'not_found',
    'forbidden',
    'resource_limit',
    'conflict',
    'internal',
  ]);
  const other = new TypeError('x');
  expect(localFailure(other)).toBe(other);
});
