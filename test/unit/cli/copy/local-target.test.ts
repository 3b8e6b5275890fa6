// Writing here what a sandbox sent: nothing leaves the target, whatever names, links and leftovers there are.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, it } from 'vitest';
import type { Target } from '../../../../src/cli/copy/endpoint.ts';
import { localTarget } from '../../../../src/cli/copy/local-target.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

let outside: string;
let root: string;
let target: Target;
const never = new AbortController().signal;
const write = (at: string, text = 'new', mode = 0o644) =>
  target.file(
    { at, type: 'file', size: text.length, mode },
    async () => Readable.from([Buffer.from(text)]),
    never,
  );
const code = (code: string) => expect.objectContaining({ code });

beforeEach(() => {
  const folder = temporaryFolder();
  outside = join(folder, 'outside');
  root = join(folder, 'root');
  mkdirSync(outside);
  mkdirSync(root);
  writeFileSync(join(outside, 'victim'), 'old');
  target = localTarget(root);
});

it('writes files with their mode without set-id bits, and the folders they need', async () => {
  await write('a/b/c', 'hello', 0o4751);
  expect(readFileSync(join(root, 'a/b/c'), 'utf8')).toBe('hello');
  expect(lstatSync(join(root, 'a/b/c')).mode & 0o7777).toBe(0o751);
});

it('replaces a link and never writes through it', async () => {
  symlinkSync(join(outside, 'victim'), join(root, 'f'));
  await write('f');
  expect(lstatSync(join(root, 'f')).isFile()).toBe(true);
  expect(readFileSync(join(outside, 'victim'), 'utf8')).toBe('old');
});

it('never goes through a folder that is a link', async () => {
  symlinkSync(outside, join(root, 'd'));
  await expect(write('d/victim')).rejects.toEqual(code('conflict'));
  await expect(target.folder('d', 0o755)).rejects.toEqual(code('conflict'));
  await expect(target.link('d/l', 'x')).rejects.toEqual(code('conflict'));
  expect(readdirSync(outside)).toEqual(['victim']);
  expect(readFileSync(join(outside, 'victim'), 'utf8')).toBe('old');
});

it('makes only links that stay inside', async () => {
  await target.folder('d', 0o755);
  expect(await target.link('d/l', '../x')).toBeUndefined();
  expect(readlinkSync(join(root, 'd/l'))).toBe('../x');
  for (const to of ['/etc', '../../outside', 'a/../../..'])
    expect(await target.link('d/bad', to)).toMatch(/leads out/);
  expect(existsSync(join(root, 'd/bad'))).toBe(false);
  await expect(target.link('d', 'x')).rejects.toEqual(code('conflict'));
});

it('sets the modes of folders at the end only', async () => {
  await target.folder('d', 0o500);
  await target.folder('d/e', 0o550);
  await write('d/e/f');
  await target.end();
  expect([statSync(join(root, 'd')).mode & 0o777, statSync(join(root, 'd/e')).mode & 0o777]).toEqual([
    0o500, 0o550,
  ]);
});

it('leaves no half-written file', async () => {
  writeFileSync(join(root, 'f'), 'old');
  async function* broken() {
    yield Buffer.from('ne');
    throw new Error('cut');
  }
  const content = Readable.from(broken());
  await expect(target.file({ at: 'f', type: 'file' }, async () => content, never)).rejects.toThrow('cut');
  expect(readdirSync(root)).toEqual(['f']);
  expect(readFileSync(join(root, 'f'), 'utf8')).toBe('old');
});

it('replaces neither a folder nor a socket of the same name', async () => {
  mkdirSync(join(root, 'f'));
  await expect(write('f')).rejects.toEqual(code('conflict'));
});

it('refuses more bytes than the disk has free', async () => {
  await expect(target.begin(2 ** 60)).rejects.toEqual(code('resource_limit'));
  await target.begin(10);
});
