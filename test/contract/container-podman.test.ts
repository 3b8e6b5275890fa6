// Podman's service is no engine for sandboxes: what is refused, and the fact that makes it so. When the fact changes, so
// may the refusal.
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { type Engine, openEngine } from '../../src/providers/container/engine.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { containerConfig, containerHome, containerSpec } from '../support/hosts/container.ts';
import { IMAGES, imageTar } from '../support/hosts/engine.ts';
import { type Podman, startPodman } from '../support/hosts/podman.ts';
import { freshId, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const WHY = 'closes the standard input of a sandbox';
/** Asked for by Podman itself when nobody else does, and more than a host without CAP_SYS_RESOURCE gives. */
const LIMITS = ['nofile', 'nproc'].map((Name) => ({ Name, Soft: 4096, Hard: 4096 }));

describeWith(['root', 'podman'], 'the service of Podman', () => {
  let podman: Podman;
  let provider: Provider;
  beforeAll(async () => {
    podman = await startPodman();
    await podman.api.importImage(IMAGES.busybox.replace(/:.*/, ''), imageTar('busybox'));
    provider = containerHome(podman.socket).provider({ network_mode: 'none' });
  }, 120_000);
  afterAll(async () => {
    await provider?.close();
    await podman?.stop();
  });

  it('is recognized and refused with the reason', async () => {
    expect(await provider.probe(soon())).toMatchObject({
      healthy: false,
      message: expect.stringContaining(WHY),
    });
    await expect(provider.create(containerSpec(freshId()), soon())).rejects.toMatchObject({
      code: 'provider_error',
      message: expect.stringContaining(WHY),
    });
    expect(await podman.api.containers()).toEqual([]);
  });

  it('closes standard input when the first of two connections ends', async () => {
    const order = {
      ...{ Image: IMAGES.busybox, Cmd: ['sh', '-c', 'while read x; do echo $x; done; echo over; sleep 60'] },
      ...{ OpenStdin: true, StdinOnce: false, AttachStdin: true, AttachStdout: true },
      HostConfig: { NetworkMode: 'none', LogConfig: { Type: 'none' }, Ulimits: LIMITS },
    };
    expect(await podman.api.call('POST', '/containers/create?name=one', order)).toMatchObject({
      status: 201,
    });
    const engine = openEngine({
      config: { ...containerConfig(), socket: podman.socket },
      clock: realClock(),
    });
    const [first, second] = [await attached(engine), await attached(engine)];
    try {
      await podman.api.call('POST', '/containers/one/start');
      first.stream.write('heard\n');
      await until('what was written comes back', () => first.said().includes('heard'));
      second.stream.destroy();
      await until('the end of standard input', () => first.said().includes('over'));
    } finally {
      first.stream.destroy();
      engine.close();
    }
  });
});

async function attached(engine: Engine): Promise<{ stream: Duplex; said(): string }> {
  const query = { stream: 1, stdin: 1, stdout: 1, logs: 0 };
  const order = { method: 'POST', path: '/containers/one/attach', query, what: 'attach' } as const;
  const stream = await engine.upgrade(order, soon());
  let text = '';
  stream
    .on('error', () => undefined)
    .on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
    });
  return { stream, said: () => text };
}
