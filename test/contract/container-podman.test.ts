// Podman's Docker-compatible service under the container provider: the same seam, another engine.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Provider } from '../../src/providers/provider.ts';
import { containerHome, containerSpec } from '../support/container.ts';
import { IMAGES, imageTar } from '../support/engine.ts';
import { type Podman, startPodman } from '../support/podman.ts';
import { describeWith } from '../support/requires.ts';
import { freshId, runInside, soon } from '../support/userspace.ts';

describeWith(['root', 'podman'], 'containers of Podman', () => {
  let podman: Podman;
  let provider: Provider;
  beforeAll(async () => {
    podman = await startPodman();
    await podman.api.importImage(IMAGES.busybox.replace(/:.*/, ''), imageTar('busybox'));
    // A bridge needs plugins that not every host of Podman has.
    provider = containerHome(podman.socket).provider({ network_mode: 'none' });
  }, 120_000);
  afterAll(async () => {
    await provider?.close();
    await podman?.stop();
  });

  it('do what is asked, are found again, and go', async () => {
    expect(await provider.probe(soon())).toMatchObject({ healthy: true });
    const id = freshId();
    await provider.create(containerSpec(id), soon());
    const io = await provider.attach({ id, epoch: 1 }, soon());
    expect(await runInside(io, ['hostname'])).toMatchObject({ stdout: `${id}\n`, exit_code: 0 });
    io.close();
    const again = await provider.attach({ id, epoch: 1 }, soon());
    await again.files.write('/workspace/file', Buffer.alloc(1 << 20, 'x'), {});
    expect((await runInside(again, ['wc', '-c', '/workspace/file'])).stdout).toMatch(/^1048576/);
    expect(await provider.list(soon())).toMatchObject([{ id, epoch: 1, state: 'running' }]);
    await provider.destroy({ id, epoch: 1 }, soon());
    await again.closed;
    expect(await provider.inspect({ id, epoch: 1 }, soon())).toBe('gone');
    expect(await provider.list(soon())).toEqual([]);
  });
});
