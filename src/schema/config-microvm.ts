// The section providers.microvm of the configuration.
import { type Static, Type } from 'typebox';
import { choice, flag, hostText, section, text, whole } from './config-kinds.ts';

export const MicrovmConfig = section('Sandboxes in virtual machines of their own.', {
  enabled: flag(false, 'Offer this provider.'),
  monitor: choice(
    ['qemu', 'firecracker'],
    'qemu',
    'What runs the virtual machines. firecracker: with KVM only, never as root, no network, each one booted.',
  ),
  monitor_path: text('', 'Path of the monitor program; empty finds it in PATH.'),
  kernel_path: text('', "The guests' kernel; empty is the newest of this machine's, cloud kernels first."),
  agent_path: text('', "The guests' agent; empty is the one of this package."),
  data_dir: hostText({
    description: 'Folder for images, kernels and what running virtual machines change.',
    defaultText: '/var/lib/svc/microvm for root, else ~/.svc/microvm',
  }),
  images: Type.Record(
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$' }),
    Type.String({ minLength: 1 }),
    {
      additionalProperties: false,
      default: {},
      description: 'Image names and the ext4 files they stand for, beside those in data_dir.',
    },
  ),
  accelerator: choice(
    ['auto', 'kvm', 'emulation'],
    'auto',
    'kvm, or emulation, which is much slower; auto takes kvm when a guest really boots with it.',
  ),
  network: choice(
    ['none', 'user'],
    'none',
    'none: no network. user: outgoing connections through the monitor, to all that this machine reaches, its loopback included.',
  ),
  max_sandboxes: whole(0, 0, 1_000_000, 'Sandboxes of this provider at most; 0 is no cap.'),
  max_vcpus: whole(0, 0, 255, 'The most virtual processors a sandbox gets; 0 is as many as the machine has.'),
  max_memory_mb: whole(0, 0, 1_048_576, 'The most memory a sandbox gets, in megabytes; 0 is no cap.'),
  overlay_mb: whole(
    1024,
    0,
    1_048_576,
    'Size of the disk for what a sandbox changes, in megabytes; 0 keeps it in its memory.',
  ),
  snapshots: flag(
    true,
    'Start sandboxes from a saved guest of the same image and size, made by the first spawn, instead of booting each.',
  ),
});
export type MicrovmConfig = Static<typeof MicrovmConfig>;
