// The disk for changes: whole, sparse, and a failure that says what to do.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { realHost } from '../../../../src/host/real-host.ts';
import { overlaySource } from '../../../../src/providers/microvm/overlay.ts';
import { fakeHost } from '../../../support/fakes/host.ts';
import { describeWith } from '../../../support/requires.ts';

const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const MEBIBYTE = 1024 * 1024;

describeWith(['mke2fs'], 'disks for changes', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'svc-overlay-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('are valid file systems that take little space, for any number', async () => {
    const overlays = overlaySource(realHost(PATH), folder, 256);
    const paths = ['a', 'b'].map((name) => join(folder, name));
    await Promise.all(paths.map((path) => overlays.make(path)));
    for (const path of paths) {
      const { size, blocks, mode } = statSync(path);
      expect([size, mode & 0o777]).toEqual([256 * MEBIBYTE, 0o600]);
      expect(blocks * 512).toBeLessThan(2 * MEBIBYTE);
      execFileSync('/sbin/e2fsck', ['-fn', path], { stdio: 'ignore' });
    }
    expect(readdirSync(folder).sort()).toEqual(['a', 'b']);
  });

  it('never overwrite an existing file', async () => {
    const overlays = overlaySource(realHost(PATH), folder, 16);
    writeFileSync(join(folder, 'mine'), 'x');
    await expect(overlays.make(join(folder, 'mine'))).rejects.toMatchObject({ code: 'provider_error' });
  });

  it('are formatted separately where they are large', async () => {
    const path = join(folder, 'large');
    await overlaySource(realHost(PATH), folder, 8192).make(path);
    expect(statSync(path).size).toBe(8192 * MEBIBYTE);
    execFileSync('/sbin/e2fsck', ['-fn', path], { stdio: 'ignore' });
  });

  it('are formatted by an mke2fs outside the PATH of an ordinary user', async () => {
    const path = join(folder, 'ordinary');
    await overlaySource(realHost('/nowhere'), folder, 16).make(path);
    expect(statSync(path).size).toBe(16 * MEBIBYTE);
  });

  it('fail without mke2fs, with the remedy', async () => {
    const overlays = overlaySource(fakeHost({}), folder, 16);
    await expect(overlays.make(join(folder, 'none'))).rejects.toMatchObject({
      code: 'provider_error',
      remedy: expect.stringContaining('e2fsprogs'),
    });
  });
});
