// kvm or emulation. /dev/kvm can open, and even make a machine, and still never run a guest (nested virtualisation often
// does), so that a guest is booted to find out: one without an image, which ends by itself.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { MicrovmDeps } from './deps.ts';
import { kernelArguments } from './kernel-arguments.ts';
import type { Accelerator } from './monitor-plan.ts';

const TRIAL_MS = 10_000;
const TRIAL_MB = 128;
const DEVICE = '/dev/kvm';

export type AcceleratorKind = Accelerator['kind'];

export interface Trial {
  monitor: { path: string; version: string };
  kernel: string;
  initramfs: string;
  /** Keeps the verdict for this boot of the machine and this monitor. */
  memoFile: string;
}

/** What the configuration names, or what works. Throws `unavailable` when it names kvm and that does not work. */
export async function chooseAccelerator(deps: MicrovmDeps, trial: Trial): Promise<AcceleratorKind> {
  const { accelerator } = deps.config;
  if (accelerator === 'emulation') return 'emulation';
  const works = await kvmWorks(deps, trial);
  if (works) return 'kvm';
  if (accelerator === 'auto') return 'emulation';
  throw new ServiceError('unavailable', 'No guest boots with KVM on this machine.', {
    remedy: 'Enable (nested) virtualisation and access to /dev/kvm, or set providers.microvm.accelerator.',
  });
}

async function kvmWorks(deps: MicrovmDeps, trial: Trial): Promise<boolean> {
  if (!(await deps.host.mayWrite(DEVICE))) return false;
  const key = `${deps.host.bootId} ${trial.monitor.version}`;
  const known = await readFile(trial.memoFile, 'utf8').then(parse, () => undefined);
  if (known?.key === key) return known.kvm;
  const kvm = await bootsGuest(deps, trial);
  if (kvm === undefined) return false;
  await writeFile(trial.memoFile, JSON.stringify({ key, kvm }), { mode: 0o600 }).catch(() => undefined);
  return kvm;
}

function parse(text: string): { key: string; kvm: boolean } | undefined {
  try {
    const { key, kvm } = JSON.parse(text) as Record<string, unknown>;
    return typeof key === 'string' && typeof kvm === 'boolean' ? { key, kvm } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The agent finds no settings there and resets the machine, which ends the monitor. Undefined when it did not end by
 * itself: on a busy machine that says nothing of KVM, and is tried again by the next server.
 */
async function bootsGuest(
  { host }: MicrovmDeps,
  { monitor, kernel, initramfs }: Trial,
): Promise<boolean | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-kvm-'));
  const args = [
    ...['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-pidfile', join(folder, 'pid')],
    ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
    ...['-machine', 'microvm,acpi=on,pcie=off,rtc=on,pit=off,pic=off', '-accel', 'kvm', '-cpu', 'host'],
    ...['-m', `${TRIAL_MB}M`, '-kernel', kernel, '-initrd', initramfs],
    ...['-append', kernelArguments({ kind: 'kvm' })],
  ];
  try {
    const { code } = await host.run(monitor.path, args, { timeoutMs: TRIAL_MS });
    return code === null ? undefined : code === 0;
  } catch {
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
