// QEMU as a monitor: everything stands in its arguments, and its agent's port is a socket as it is.
import { join } from 'node:path';
import { openAgentSocket } from '../local/agent-socket.ts';
import { QEMU_MODULES } from './initramfs.ts';
import { ready } from './monitor.ts';
import { kernelArguments, type MonitorKind, type Trial } from './monitor-kind.ts';
import { qemuArguments } from './qemu-arguments.ts';

const TRIAL_MB = 128;

export const QEMU: MonitorKind = {
  title: 'QEMU',
  program: 'qemu-system-x86_64',
  remedy: 'Install qemu-system-x86, or set providers.microvm.monitor_path.',
  version: /version (\d+\.\d+[^ ]*)/,
  modules: QEMU_MODULES,
  emulates: true,
  restores: true,
  refuse: () => undefined,
  trialArguments: async (trial, folder) => trialArguments(trial, folder),
  arguments: qemuArguments,
  settingsFile: (settings) => settings,
  ready,
  openAgent: (_clock, path, signal) => openAgentSocket(path, signal),
};

/** The agent finds no settings there and resets the machine, which ends the monitor. */
function trialArguments({ kernel, initramfs }: Trial, folder: string): string[] {
  return [
    ['-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none', '-pidfile', join(folder, 'pid')],
    ['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
    ['-machine', 'microvm,acpi=on,pcie=off,rtc=on,pit=off,pic=off', '-accel', 'kvm', '-cpu', 'host'],
    ['-m', `${TRIAL_MB}M`, '-kernel', kernel, '-initrd', initramfs],
    ['-append', kernelArguments({ kind: 'kvm' })],
  ].flat();
}
