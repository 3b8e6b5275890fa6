// A guest that is told by a disk what others read from QEMU's fw_cfg, its disks without names, as under Firecracker: only
// the port to the host is QEMU's. Emulated.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openSession } from '../../src/agent/session.ts';
import { realClock } from '../../src/host/clock.ts';
import { packageRoot } from '../../src/host/package-root.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { encodeSettings } from '../../src/providers/local/settings.ts';
import { settingsDisk } from '../../src/providers/microvm/firecracker/settings-disk.ts';
import { FIRECRACKER_MODULES, initramfsSource } from '../../src/providers/microvm/initramfs.ts';
import { kernelSource } from '../../src/providers/microvm/kernel.ts';
import type { MonitorPlan } from '../../src/providers/microvm/monitor-kind.ts';
import { overlaySource } from '../../src/providers/microvm/overlay.ts';
import { QEMU } from '../../src/providers/microvm/qemu.ts';
import { qemuArguments } from '../../src/providers/microvm/qemu-arguments.ts';
import { guestSettings } from '../../src/providers/microvm/settings.ts';
import { silentLogger } from '../support/fakes/ports.ts';
import { busyboxImage } from '../support/hosts/microvm.ts';
import { runInside, runtimeSpec, soon } from '../support/hosts/userspace.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';

const host = realHost('/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin');
const clock = realClock();
const secret = Buffer.from('fedcba9876543210');

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'a guest with its settings on a disk', () => {
  it('boots, and no longer has that disk', async () => {
    const plan = await planIn(temporaryFolder());
    const program = (await host.which(QEMU.program)) as string;
    const monitor = await host.detach(program, withSettingsDisk(plan));
    onTestFinished(async () => {
      process.kill(monitor.pid, 'SIGKILL');
      await monitor.ended;
    });
    await QEMU.ready(clock, { process: monitor, plan }, AbortSignal.timeout(100_000));
    const stream = await QEMU.openAgent(clock, plan.sockets.agent, soon());
    const io = await openSession({ stream, secret, clock, random: realRandom(), logger: silentLogger });
    const inside = async (words: string) => (await runInside(io, ['sh', '-c', words])).stdout;
    expect(await inside('hostname; echo x >/a && cat /a')).toBe('sb-disk\nx\n');
    expect((await inside('ls /dev/vd*')).match(/vd.$/gm)).toHaveLength(2);
    expect((await inside('cat /sys/block/vd?/ro')).split('\n').sort()).toEqual(['', '0', '1']);
    io.close();
  });
});

async function planIn(home: string): Promise<MonitorPlan> {
  const run = join(home, 'run');
  mkdirSync(run);
  const dataFolder = join(home, 'data');
  const kernel = await kernelSource({ host, dataFolder, kernelPath: '' }).ready();
  const roots = initramfsSource({ host, dataFolder, packageRoot: packageRoot(), agentPath: '' });
  const initramfs = await roots.ready(kernel, [...FIRECRACKER_MODULES, 'virtio_console']);
  await overlaySource(host, home, 8).make(join(run, 'overlay'));
  writeFileSync(join(run, 'settings'), settings());
  return {
    name: 'svc-disk',
    accelerator: { kind: 'emulation', tscKhz: await clockRate() },
    memory_mb: 128,
    vcpus: 1,
    kernel: kernel.path,
    initramfs: initramfs.path,
    image: busyboxImage(home),
    overlay: join(run, 'overlay'),
    settings: join(run, 'settings'),
    network: 'none',
    sockets: { agent: join(run, 'agent.sock'), monitor: join(run, 'vmm.sock') },
    pidfile: join(run, 'pid'),
    user: undefined,
    memory: { kind: 'own' },
  };
}

/** The first of a key counts: the port is not the vsock's here. */
function settings(): Buffer {
  const made = { memory_mb: 128 };
  const told = guestSettings({ spec: runtimeSpec('sb-disk'), made, network: 'none', secret, env: {} });
  return settingsDisk(Buffer.concat([told, encodeSettings([['vsock_port', '0']])]));
}

async function clockRate(): Promise<number> {
  const agent = join(packageRoot(), 'agent', 'build', 'svc-agent');
  return Number((await host.run(agent, ['clock-rate'], { timeoutMs: 10_000 })).stdout);
}

/** Serial numbers as a monitor would make them up. */
function withSettingsDisk(plan: MonitorPlan): string[] {
  const words = qemuArguments(plan).map((word) => word.replace('"serial":"svc-', '"serial":"1234'));
  words.splice(words.indexOf('-fw_cfg'), 2);
  const file = { driver: 'file', filename: plan.settings, 'read-only': true };
  const node = { driver: 'raw', 'node-name': 'told', 'read-only': true, file };
  const device = { driver: 'virtio-blk-device', drive: 'told' };
  return [...words, '-blockdev', JSON.stringify(node), '-device', JSON.stringify(device)];
}
