// What a spawn gets for what it asks, and how that is written for the launcher.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { realClock } from '../../../../src/host/clock.ts';
import { realHost } from '../../../../src/host/real-host.ts';
import { encodeSettings } from '../../../../src/providers/local/settings.ts';
import { chooseImage, imageNames } from '../../../../src/providers/userspace/image.ts';
import { sizesFor } from '../../../../src/providers/userspace/plan.ts';
import { hostView, imageView } from '../../../../src/providers/userspace/rootfs-view.ts';
import { testConfig } from '../../../support/config.ts';

const MEBIBYTE = 1024 * 1024;
const config = { images: { debian: '/images/debian' }, rootfs_path: '' };

it('runs an unknown image on the default root with a warning', async () => {
  const state = {
    config: { ...testConfig().providers.userspace, ...config },
    imageStore: { path: '/nowhere' },
    slowly: <T>(work: () => Promise<T>) => work(),
    clock: realClock(),
    host: realHost(),
  };
  const choose = (image: string | undefined) => chooseImage(state, { image });
  expect(await choose(undefined)).toEqual({ name: 'host', rootfs: undefined, warnings: [] });
  expect(await choose('debian')).toEqual({ name: 'debian', rootfs: '/images/debian', warnings: [] });
  const { name, warnings } = await choose('alpine:latest');
  expect(name).toBe('host');
  expect(warnings).toEqual(['Image alpine:latest is not on this machine: the sandbox runs on host.']);
  expect((await choose('constructor')).name).toBe('host');
  expect(imageNames({ ...config, rootfs_path: '/images/base' })).toEqual(['base', 'debian']);
});

it('divides the memory among the writable folders', () => {
  expect(sizesFor(512, { max_disk_mb: 1024 })).toEqual({
    workspace: 256 * MEBIBYTE,
    tmp: 128 * MEBIBYTE,
    shm: 128 * MEBIBYTE,
    root: 128 * MEBIBYTE,
  });
  expect(sizesFor(512, { max_disk_mb: 10 }).workspace).toBe(10 * MEBIBYTE);
  expect(sizesFor(1, { max_disk_mb: 10 }).tmp).toBe(MEBIBYTE);
});

it('writes records in which no value can forge another', () => {
  expect(
    encodeSettings([
      ['a', 'x=y\nz'],
      ['b', ''],
    ]).toString(),
  ).toBe('a=x=y\nz\0b=\0');
  expect(() => encodeSettings([['a', 'x\0uid=0']])).toThrow();
  expect(() => encodeSettings([['a', 'x'.repeat(70_000)]])).toThrow();
});

it('shows /usr of the host, but no home, /var or /root of it', async () => {
  const view = await hostView('/run/svc/x/etc', 'none');
  const shown = [...view.binds.map((bind) => bind.target), ...view.links.map((link) => link.path)];
  expect(shown).toContain('/usr');
  expect(view.links).toContainEqual({ path: '/root', target: 'workspace' });
  for (const path of ['/home', '/var', '/opt', '/etc/shadow', '/sys', '/run'])
    expect(shown).not.toContain(path);
  expect(view.binds.find((bind) => bind.target === '/etc')?.source).toBe('/run/svc/x/etc');
  expect(shown).not.toContain('/etc/resolv.conf');
});

it("shows an image except for the sandbox's own mounts", async () => {
  const root = mkdtempSync(join(tmpdir(), 'svc-image-'));
  for (const name of ['usr', 'proc', 'dev', 'tmp', 'workspace', 'etc']) mkdirSync(join(root, name));
  symlinkSync('usr/bin', join(root, 'bin'));
  writeFileSync(join(root, 'note'), '');
  const view = await imageView(root, (work) => work());
  rmSync(root, { recursive: true });
  expect(view.binds.map((bind) => bind.target)).toEqual(['/etc', '/note', '/usr']);
  expect(view.links).toEqual([{ path: '/bin', target: 'usr/bin' }]);
  expect(view.overlay).toBe(root);
  await expect(imageView(root, (work) => work())).rejects.toMatchObject({ code: 'provider_error' });
});
