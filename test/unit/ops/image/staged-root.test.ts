// What a hostile archive says must not become a line of the script that debugfs runs: it hands `!` lines to a shell.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inodeScript, ownedScript } from '../../../../src/images/disk/inode-script.ts';
import { StagedRoot } from '../../../../src/ops/image/staged-root.ts';

const INODE = { mode: 0o755, uid: 0, gid: 0, mtime: 0 };
async function* nothing(): AsyncGenerator<Buffer> {}
const told = (script: Iterable<Buffer>) => Buffer.concat([...script]).toString('latin1');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-staged-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a staged root', () => {
  it.each(['x\n!true #', 'x\r!true', '/a/x\n!true #/b'])(
    'refuses folders that a target %j names',
    async (target) => {
      const root = new StagedRoot(folder);
      root.link('l', INODE, target);
      await expect(root.file('l/f', INODE, nothing())).rejects.toMatchObject({ code: 'bad_request' });
    },
  );

  it('refuses a line break in a name that an entry says', () => {
    const root = new StagedRoot(folder);
    expect(() => root.folder('a\nb', INODE)).toThrow(/line break/);
    expect(() => root.link('c\nd', INODE, 'x')).toThrow(/line break/);
  });
});

describe('the script of inodes', () => {
  it('does not print a name with a line break, wherever it comes from', () => {
    const root = new StagedRoot(folder);
    root.root.children.set('x\n!true #', { ...INODE, type: 'folder', children: new Map() });
    expect(() => told(inodeScript(root.root, folder))).toThrow(/line break/);
  });

  it('refuses a path that makes a line longer than debugfs reads', () => {
    const root = new StagedRoot(folder);
    const part = 'a'.repeat(250);
    root.folder([part, part, part].join('/'), INODE);
    expect(told(inodeScript(root.root, folder))).toContain(part);
    root.folder([part, part, part, part].join('/'), INODE);
    expect(() => told(inodeScript(root.root, folder))).toThrow(/too long/);
  });

  it('makes root the owner only of paths that can be said', () => {
    expect(told(ownedScript(['/a', '/b\n!true #']))).toBe('sif "/a" uid 0\nsif "/a" gid 0\n');
  });
});
