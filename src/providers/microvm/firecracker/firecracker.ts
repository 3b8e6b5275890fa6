// Firecracker as a monitor: it starts with only the socket of its API and gets its configuration over it. It needs KVM, has no
// network without the host's help, and does not change its user by itself. (firecracker docs/getting-started, docs/vsock)
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../../domain/errors.ts';
import { FIRECRACKER_MODULES } from '../initramfs.ts';
import type { MonitorKind } from '../monitor-kind.ts';
import { ready } from './ready.ts';
import { AGENT_PORT, trialOf } from './requests.ts';
import { settingsDisk } from './settings-disk.ts';
import { connectVsock } from './vsock.ts';

/** The first that describes its devices by ACPI, which is how Debian's kernel finds them. */
const LEAST = [1, 8] as const;
const CONNECT_MS = 5000;

export const FIRECRACKER: MonitorKind = {
  title: 'Firecracker',
  program: 'firecracker',
  remedy: 'Install Firecracker 1.8 or newer, or set providers.microvm.monitor_path.',
  version: /^Firecracker v(\d+\.\d+\.\d+\S*)/,
  modules: FIRECRACKER_MODULES,
  emulates: false,
  restores: false,
  mostVcpus: 32,
  refuse,
  trialArguments: async (trial, folder) => {
    const path = join(folder, 'machine.json');
    await writeFile(path, JSON.stringify(trialOf(trial)), { mode: 0o600 });
    return ['--no-api', '--config-file', path];
  },
  arguments: ({ name, sockets }) => ['--api-sock', sockets.monitor, '--id', name.replaceAll('.', '-')],
  settingsFile: settingsDisk,
  ready,
  openAgent: (clock, path, signal) => connectVsock({ clock, path, port: AGENT_PORT, ms: CONNECT_MS }, signal),
};

function refuse({ uid, network, version }: { uid: number; network: string; version: string }): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1]))
    throw unfit(`Firecracker ${version} is too old.`, FIRECRACKER.remedy);
  if (uid === 0)
    throw unfit(
      'Firecracker would keep root privileges.',
      'Run the server as an ordinary user that may open /dev/kvm, or set providers.microvm.monitor to qemu.',
    );
  if (network !== 'none')
    throw unfit(
      'Firecracker guests cannot have a network.',
      'Set providers.microvm.network to none, or providers.microvm.monitor to qemu.',
    );
}

function unfit(message: string, remedy: string): ServiceError {
  return new ServiceError('unavailable', message, { remedy });
}
