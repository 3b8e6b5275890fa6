// THE SEAM OF MONITORS: the differences between the programs that run virtual machines, and the plan that each runs. All other
// code uses a MonitorKind and knows neither by name.
import type { Socket } from 'node:net';
import type { Clock } from '../../domain/ports.ts';
import type { Detached } from '../../host/host.ts';

export interface Trial {
  monitor: { path: string; version: string };
  kernel: string;
  initramfs: string;
  /** Keeps the verdict for an hour of this boot of the machine, this monitor and this kernel. */
  memoFile: string;
}

export interface MonitorKind {
  /** The name for messages. */
  title: string;
  /** The program in PATH, and how to install it. */
  program: string;
  remedy: string;
  /** Matches the output of `--version`; its first group is the version. */
  version: RegExp;
  /** Modules that a guest needs. */
  modules: readonly string[];
  /** Runs guests without KVM, slowly. */
  emulates: boolean;
  /** Saves and restores guests. */
  restores: boolean;
  /** The most processors of a guest; undefined: no limit. */
  mostVcpus?: number;
  /** Throws `unavailable` for a host or a configuration that it cannot serve. */
  refuse(about: { uid: number; network: string; version: string }): void;
  /** Arguments that boot a guest without an image. When KVM works, it ends by itself with 0. */
  trialArguments(trial: Trial, folder: string): Promise<string[]>;
  /** Arguments that run `plan`. `ready` sends the rest, if any. */
  arguments(plan: MonitorPlan): string[];
  /** What the settings file of a plan holds for these settings of the agent. */
  settingsFile(settings: Buffer): Buffer;
  /**
   * Resolves when the guest's agent has opened its port. Throws `provider_error` when the guest or its monitor ended or
   * refused instead, `unavailable` when the monitor does not answer, the signal's reason on abort.
   */
  ready(clock: Clock, started: { process: Detached; plan: MonitorPlan }, signal: AbortSignal): Promise<void>;
  /** A fresh connection to the agent's port. Throws `unavailable`, or the signal's reason. */
  openAgent(clock: Clock, path: string, signal: AbortSignal): Promise<Socket>;
}

export interface MonitorPlan {
  /** What the process list shows. */
  name: string;
  accelerator: Accelerator;
  memory_mb: number;
  vcpus: number;
  /** An uncompressed kernel with a PVH entry, and its first root. */
  kernel: string;
  initramfs: string;
  /** Root of the guest, read-only. */
  image: string;
  /** What the guest may change, a raw file; undefined: memory of the guest. */
  overlay: string | undefined;
  /** The file with svc-agent's settings, in the monitor's format. */
  settings: string;
  network: 'none' | 'user';
  sockets: { agent: string; monitor: string };
  pidfile: string;
  /** The user that the monitor becomes once its files are open; undefined: the server's. */
  user: { uid: number; gid: number } | undefined;
  memory: MonitorMemory;
  /** Waits for the state of another one instead of booting. `-incoming` of qemu(1) */
  incoming?: string;
}

export type Accelerator =
  | { kind: 'kvm' }
  /** `tscKhz`: how fast this machine's time stamp counter runs, which the guest's then does. */
  | { kind: 'emulation'; tscKhz: number };

/** The guest's memory: its own, or a file's, which it changes (`isShared`) or takes a private view of. */
export type MonitorMemory = { kind: 'own' } | { kind: 'file'; path: string; isShared: boolean };

const ALWAYS = [
  'console=ttyS0',
  'quiet',
  // A guest that crashes ends its monitor.
  'panic=-1',
  'reboot=t',
  // The processor's random numbers count, the crypto code does not test itself, and there is no keyboard to wait for.
  'random.trust_cpu=on',
  'cryptomgr.notests',
  'i8042.noaux',
  'i8042.nokbd',
  '8250.nr_uarts=1',
];

/**
 * Each piece of kernel code costs a restored guest its translation, so unneeded code is left out. An emulated processor has no
 * speculation to guard against, and is late when this machine is busy, which is not a lockup.
 */
const EMULATED = [
  'mitigations=off',
  'nowatchdog',
  'noautogroup',
  'psi=0',
  'lsm=landlock,lockdown,yama',
  'init_on_alloc=0',
  'transparent_hugepage=madvise',
];

/** The command line of the guest's kernel, which the guest can read. Measured: it takes a second off an emulated boot. */
export function kernelArguments(accelerator: Accelerator): string {
  if (accelerator.kind === 'kvm') return ALWAYS.join(' ');
  // The guest has this machine's counter. The kernel gets its rate as an argument: a busy machine spoils a measurement, which
  // leaves a guest without a clock or a boot without end.
  const clock = ['tsc=reliable', `tsc_early_khz=${accelerator.tscKhz}`];
  return [...ALWAYS, ...EMULATED, ...clock].join(' ');
}
