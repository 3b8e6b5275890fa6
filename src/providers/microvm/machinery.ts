// What this machine runs virtual machines with: the monitor, the accelerator, the guests' kernel and their first root.
import { join } from 'node:path';
import { findAgent } from '../../agent/binary.ts';
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../userspace/state.ts';
import { type AcceleratorKind, chooseAccelerator } from './accelerator.ts';
import type { MicrovmDeps } from './deps.ts';
import { initramfsSource, QEMU_MODULES } from './initramfs.ts';
import { type GuestKernel, kernelSource } from './kernel.ts';
import type { Accelerator } from './monitor-plan.ts';

const VERSION_MS = 10_000;
const RATE_MS = 10_000;
const PROGRAM = 'qemu-system-x86_64';

export interface Machinery {
  monitor: { path: string; version: string };
  kernel: GuestKernel;
  initramfs: { path: string; digest: string };
  accelerator: Accelerator;
}

export interface MachinerySource {
  /** All of it. What cannot change is found once; kernel and agent are looked at each time. Throws ServiceErrors. */
  ready(): Promise<Machinery>;
  /** Path and version. Throws `unavailable` when there is none. */
  monitor(): Promise<Machinery['monitor']>;
  kernel(): Promise<GuestKernel>;
  initramfs(): Promise<Machinery['initramfs']>;
  /** May boot a guest to find out, for up to ten seconds, once a boot of this machine. */
  accelerator(): Promise<AcceleratorKind>;
}

/** Touches the host only when used. */
export function machinerySource(deps: MicrovmDeps): MachinerySource {
  const { host, packageRoot, config } = deps;
  const kernels = kernelSource({ host, dataFolder: config.data_dir, kernelPath: config.kernel_path });
  const roots = initramfsSource({
    host,
    dataFolder: config.data_dir,
    packageRoot,
    agentPath: config.agent_path,
  });
  const monitor = once(() => findMonitor(deps));
  const kernel = () => kernels.ready();
  const initramfs = async () => roots.ready(await kernel(), QEMU_MODULES);
  const accelerator = once(async () =>
    chooseAccelerator(deps, {
      monitor: await monitor(),
      kernel: (await kernel()).path,
      initramfs: (await initramfs()).path,
      memoFile: join(config.data_dir, 'accelerator.json'),
    }),
  );
  const rate = once(() => clockRate(deps));
  const ready = async () => {
    const kind = await accelerator();
    return {
      monitor: await monitor(),
      kernel: await kernel(),
      initramfs: await initramfs(),
      accelerator: kind === 'kvm' ? { kind } : { kind, tscKhz: await rate() },
    };
  };
  return { ready, monitor, kernel, initramfs, accelerator };
}

async function findMonitor({ host, config }: MicrovmDeps): Promise<Machinery['monitor']> {
  const path = await host.which(config.monitor_path || PROGRAM);
  if (!path) throw noMonitor();
  const { code, stdout } = await host.run(path, ['--version'], { timeoutMs: VERSION_MS });
  const version = /version (\d+\.\d+[^ ]*)/.exec(stdout)?.[1];
  if (code !== 0 || !version) throw noMonitor();
  return { path, version };
}

function noMonitor(): ServiceError {
  return new ServiceError('unavailable', 'There is no QEMU to run virtual machines.', {
    remedy: 'Install qemu-system-x86, or set providers.microvm.monitor_path.',
  });
}

async function clockRate({ host, packageRoot }: MicrovmDeps): Promise<number> {
  const agent = await findAgent(packageRoot, process.arch);
  const { code, stdout } = await host.run(agent, ['clock-rate'], { timeoutMs: RATE_MS });
  const rate = Number(stdout.trim());
  if (code === 0 && Number.isSafeInteger(rate) && rate > 0) return rate;
  throw new ServiceError('unavailable', 'Virtual machines need an x86-64 processor.', {
    remedy: 'Use another provider on this machine.',
  });
}
