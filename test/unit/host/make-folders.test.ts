// Folders with those above them, also where a file system makes none.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeFolders, makeFoldersSync } from '../../../src/host/make-folders.ts';

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'svc-folders-'));
});
afterAll(() => rmSync(home, { recursive: true }));

const WAYS = [
  ['makeFolders', makeFolders],
  ['makeFoldersSync', async (path: string, mode?: number) => makeFoldersSync(path, mode)],
] as const;

describe.each(WAYS)('%s', (name, make) => {
  it('makes missing folders with their mode, and leaves existing ones', async () => {
    const path = join(home, name, 'a', 'b');
    await make(path, 0o700);
    await make(path, 0o711);
    for (const folder of [path, join(home, name)]) expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('fails in /proc and below a file', async () => {
    await expect(make('/proc/no-such-place/a/b')).rejects.toMatchObject({ code: 'ENOENT' });
    const file = join(home, `${name}.txt`);
    writeFileSync(file, '');
    await expect(make(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });
});
