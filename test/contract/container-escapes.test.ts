// The program that tries to get out of a sandbox, in containers of each runtime. It is root of the image with the default
// capabilities, so what is its own it may change; nothing of the host is among it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { attempts, notStopped } from '../support/checks/attempts.ts';
import { containerHome, containerSpec } from '../support/hosts/container.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type HostSide, hostSide } from '../support/hosts/host-side.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { freshId, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';

/** Root of the image may. */
const OWN = ['write /usr', 'write /etc', 'write /', 'setuid 0'];
/** What gVisor's kernel has of its own: namespaces, nodes of its own devices, what it says of process 1. */
const OF_ITS_KERNEL = [
  ...['unshare user', 'unshare mount', 'clone user', 'mknod', 'i386', 'io_uring_setup'],
  ...['environment of process 1', 'maps of process 1', 'descriptors of process 1'],
];

for (const [runtime, link] of [
  ['runc', 'attach'],
  ['runc', 'auto'],
  ['runsc', 'attach'],
  ['runsc-link', 'auto'],
] as const) {
  describeWith(
    ['root', 'docker', runtime === 'runc' ? 'docker' : 'runsc'],
    `containers of ${runtime}, reached by ${link}`,
    () => {
      const id = freshId();
      let engine: SharedEngine;
      let provider: Provider;
      let io: SandboxIo;
      let host: HostSide;

      beforeAll(async () => {
        host = await hostSide();
        engine = await sharedEngine();
        provider = containerHome(engine.socket).provider({ runtime, link });
        await provider.create(
          containerSpec(id, { image: IMAGES.debian, network: 'none', memory_mb: 256 }),
          soon(),
        );
        io = await provider.attach({ id, epoch: 1 }, soon());
      }, 120_000);
      afterAll(async () => {
        await provider?.destroy({ id, epoch: 1 }, soon());
        await provider?.close();
        await host.close();
      });

      it('stop every escape attempt', async () => {
        const outcomes = await attempts(io, 'escapes', { ...host.facts, host_files: host.own });
        expect(Object.keys(outcomes).length).toBeGreaterThan(45);
        const may = runtime !== 'runc' ? [...OWN, ...OF_ITS_KERNEL] : OWN;
        expect(Object.entries(notStopped(outcomes)).filter(([name]) => !may.includes(name))).toEqual([]);
      });
    },
  );
}
