// Virtual machines that run images of the store, emulated.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { ImageDisks } from '../../src/images/disk/disks.ts';
import { removeStored, type StoreDeps } from '../../src/images/image-store.ts';
import { importImages } from '../../src/images/import.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { ociFiles, writeFiles } from '../support/hosts/image-archives.ts';
import { type MicrovmHome, machineRemains, microvmHome } from '../support/hosts/microvm.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { freshId, runInside, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { tarArchive } from '../support/tar.ts';

const IMAGE = 'team/tool:1';
const LAYER = tarArchive(
  { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o4755 },
  ...['sh', 'cat', 'stat', 'id'].map((name) => ({ name: `bin/${name}`, type: '2', link: 'busybox' })),
  { name: 'etc/passwd', content: 'root:x:0:0:root:/root:/bin/sh\n' },
  { name: 'var/mail', type: '5', mode: 0o2770, gid: 8 },
  { name: 'var/mail/new', content: 'mail', mode: 0o600, uid: 70_000, gid: 80_000 },
);
const ENV = ['PATH=/opt/tool/bin:/bin', 'GREETING=a=b', 'HOME=/elsewhere'];
const UPPER = tarArchive({ name: 'note', content: 'upper\n' });

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'a virtual machine on an image of the store', () => {
  let place: MicrovmHome;
  let store: StoreDeps;
  let provider: Provider;
  let disks: ImageDisks;
  beforeAll(async () => {
    place = microvmHome();
    store = {
      ...{ agent: AGENT, clock: realClock(), random: realRandom(), host: realHost() },
      root: join(place.home, 'store'),
      limits: { maxBytes: 2 ** 32, maxEntries: 100_000 },
    };
    const layout = ociFiles(
      { layers: [LAYER, UPPER], name: IMAGE, config: { Env: ENV } },
      { layers: [UPPER], name: 'team/other:1', architecture: 'riscv64' },
    );
    const source = writeFiles(join(place.home, 'layout'), layout);
    await importImages(store, { source, signal: soon() });
    disks = new ImageDisks({ store, timeoutMs: 60_000, spawnWaitMs: 60_000 });
    // Snapshots would cost a guest more for each image.
    provider = place.provider({ snapshots: false }, { disks });
  });
  afterAll(async () => {
    await provider.close();
    await disks.close();
    place.remove();
  });

  it('has its files and owners, may change them, and keeps the image in the store', async () => {
    const id = freshId();
    const spec = runtimeSpec(id, { memory_mb: 128, image: IMAGE, image_policy: 'missing', strict: true });
    const notes = await provider.readyImage?.(spec, soon());
    expect(notes).toEqual([
      expect.stringMatching(`^The disk of image ${IMAGE} was made in \\d+\\.\\d s\\.$`),
    ]);
    const created = await provider.create(spec, AbortSignal.timeout(100_000));
    expect(created).toMatchObject({
      image: IMAGE,
      image_digest: expect.stringMatching('^sha256:'),
      warnings: [],
    });
    const io = await provider.attach({ ...created, id, epoch: 1 }, soon());
    const inside = async (words: string) => (await runInside(io, ['/bin/sh', '-c', words])).stdout;
    expect(await inside('cat /note; stat -c "%a %u:%g" /var/mail /var/mail/new /bin/busybox; id -u')).toBe(
      'upper\n2770 0:8\n600 70000:80000\n4755 0:0\n0\n',
    );
    expect(await inside('echo mine >/note; cat /note; echo x >/var/mail/two && cat /var/mail/two')).toBe(
      'mine\nx\n',
    );
    expect(await inside('echo $PATH $GREETING $HOME')).toBe('/opt/tool/bin:/bin a=b /root\n');
    await expect(removeStored(store, IMAGE)).rejects.toMatchObject({ code: 'conflict' });
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(machineRemains(place, id)).toEqual([]);
    const again = await provider.readyImage?.(spec, soon());
    expect(again).toEqual([]);
  }, 200_000);

  it('is refused where the image cannot be had, and runs the first image where that is allowed', async () => {
    const create = (change: object) =>
      provider.create(runtimeSpec(freshId(), { memory_mb: 128, ...change }), AbortSignal.timeout(100_000));
    await expect(create({ image: 'team/none:1', image_policy: 'missing' })).rejects.toMatchObject({
      cause: { code: 'not_found', details: { reason: 'no_image' } },
    });
    await expect(create({ image: 'team/other:1' })).rejects.toMatchObject({
      cause: { code: 'not_found', message: expect.stringContaining('linux/riscv64') },
    });
    const id = freshId();
    const created = await provider.create(
      runtimeSpec(id, { memory_mb: 128, image: 'team/none:1' }),
      AbortSignal.timeout(100_000),
    );
    expect(created).toMatchObject({
      image: 'busybox',
      warnings: ['Image team/none:1 is not on this machine: the sandbox runs on busybox.'],
    });
    expect(created.image_digest).toBeUndefined();
    await provider.destroy({ id, epoch: 1 }, soon());
    expect(await provider.presentImages?.(soon())).toEqual(
      expect.arrayContaining(['busybox', IMAGE, 'team/other:1']),
    );
  }, 200_000);

  it('is removed with its disk when no guest runs on it', async () => {
    await removeStored(store, IMAGE);
    expect(readdirSync(join(store.root, 'disks'))).toEqual([]);
  });
});
