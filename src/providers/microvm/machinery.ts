// The parts for virtual machines on this host: monitor, accelerator, kernel and first root of guests.
import { join } from 'node:path';
import { findAgent } from '../../agent/binary.ts';
import { ServiceError } from '../../domain/errors.ts';
import { once } from '../../domain/once.ts';
import { fileIdentity } from '../../host/disk.ts';
import type { MicrovmConfig } from '../../schema/config-microvm.ts';
import { type AcceleratorKind, acceleratorSource } from './accelerator.ts';
import { FIRECRACKER } from './firecracker/firecracker.ts';
import type { MicrovmDeps } from './folders.ts';
import { initramfsSource } from './initramfs.ts';
import { type GuestKernel, kernelSource } from './kernel.ts';
import type { Accelerator, MonitorKind } from './monitor-kind.ts';
import { QEMU } from './qemu.ts';

const VERSION_MS = 10_000;
const RATE_MS = 10_000;

export interface Machinery {
  monitor: { path: string; version: string };
  kernel: GuestKernel;
  initramfs: { path: string; digest: string };
  accelerator: Accelerator;
}

export interface MachinerySource {
  /** All parts. Fixed parts are found once; monitor, kernel and agent are checked each time. Throws ServiceErrors. */
  ready(): Promise<Machinery>;
  /** Path and version. Throws `unavailable` when there is none, or none that can serve here. */
  monitor(): Promise<Machinery['monitor']>;
  kernel(): Promise<GuestKernel>;
  initramfs(): Promise<Machinery['initramfs']>;
  /** May boot a trial guest, for up to ten seconds, when the monitor or the kernel changed; otherwise hourly in the background. */
  accelerator(): Promise<AcceleratorKind>;
}

/** Touches the host only when used. */
export function machinerySource(deps: MicrovmDeps): MachinerySource {
  const { host, packageRoot, config } = deps;
  const kind = monitorKind(config);
  const kernels = kernelSource({ host, dataFolder: config.data_dir, kernelPath: config.kernel_path });
  const roots = initramfsSource({
    host,
    dataFolder: config.data_dir,
    packageRoot,
    agentPath: config.agent_path,
  });
  const monitor = monitorSource(deps, kind);
  const kernel = () => kernels.ready();
  const initramfs = async () => roots.ready(await kernel(), kind.modules);
  const choose = acceleratorSource(deps, kind);
  const accelerator = async () =>
    choose({
      monitor: await monitor(),
      kernel: (await kernel()).path,
      initramfs: (await initramfs()).path,
      memoFile: join(config.data_dir, 'accelerator.json'),
    });
  const rate = once(() => clockRate(deps));
  const ready = async () => {
    const found = await accelerator();
    return {
      monitor: await monitor(),
      kernel: await kernel(),
      initramfs: await initramfs(),
      accelerator: found === 'kvm' ? { kind: found } : { kind: found, tscKhz: await rate() },
    };
  };
  return { ready, monitor, kernel, initramfs, accelerator };
}

/** Runs `--version` again when the file changed. */
function monitorSource(deps: MicrovmDeps, kind: MonitorKind): MachinerySource['monitor'] {
  let known: { identity: string; monitor: Promise<Machinery['monitor']> } | undefined;
  return async () => {
    const path = await deps.host.which(deps.config.monitor_path || kind.program);
    if (!path) throw noMonitor(kind);
    const identity = (await fileIdentity(path)) ?? path;
    if (known?.identity !== identity) {
      const fresh = { identity, monitor: examine(deps, kind, path) };
      known = fresh;
      fresh.monitor.catch(() => {
        if (known === fresh) known = undefined;
      });
    }
    return known.monitor;
  };
}

async function examine(
  { host, config }: MicrovmDeps,
  kind: MonitorKind,
  path: string,
): Promise<Machinery['monitor']> {
  const { code, stdout } = await host.run(path, ['--version'], { timeoutMs: VERSION_MS });
  const version = kind.version.exec(stdout)?.[1];
  if (code !== 0 || !version) throw noMonitor(kind);
  kind.refuse({ uid: host.uid, network: config.network, version });
  return { path, version };
}

function noMonitor({ title, remedy }: MonitorKind): ServiceError {
  return new ServiceError('unavailable', `${title} is not installed.`, { remedy });
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

/** The monitor that the configuration names. */
export function monitorKind({ monitor }: Pick<MicrovmConfig, 'monitor'>): MonitorKind {
  return monitor === 'firecracker' ? FIRECRACKER : QEMU;
}
