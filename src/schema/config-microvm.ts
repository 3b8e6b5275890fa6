// The section providers.microvm of the configuration.
import { type Static, Type } from 'typebox';
import { choice, flag, hostText, integer, section, text } from './config-kinds.ts';

export const MicrovmConfig = section('Sandboxes that each run in their own virtual machine.', {
  enabled: flag(false, 'Offer this provider.'),
  monitor: choice(
    ['qemu', 'firecracker'],
    'qemu',
    'The virtual machine monitor. firecracker requires KVM, does not run as root, has no network, and boots every machine.',
  ),
  monitor_path: text('', 'Path of the monitor program; empty searches PATH.'),
  kernel_path: text(
    '',
    'Kernel of the guests; empty means the newest kernel of this machine, cloud kernels first.',
  ),
  agent_path: text('', 'Agent of the guests; empty means the one in this package.'),
  data_dir: hostText({
    description: 'Folder for images, kernels and the changes of running virtual machines.',
    defaultText: '/var/lib/svc/microvm for root, else ~/.svc/microvm',
  }),
  images: Type.Record(
    Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._/:-]{0,127}$' }),
    Type.String({ minLength: 1 }),
    {
      additionalProperties: false,
      default: {},
      description: 'Image names and their ext4 files, in addition to those in data_dir.',
    },
  ),
  accelerator: choice(
    ['auto', 'kvm', 'emulation'],
    'auto',
    'kvm, or emulation, which is much slower; auto uses kvm if a guest boots with it.',
  ),
  network: choice(
    ['none', 'user'],
    'none',
    'none: no network. user: outgoing connections through the monitor, to everything this machine can reach, including its loopback.',
  ),
  max_sandboxes: integer(0, 0, 1_000_000, 'Maximum number of sandboxes of this provider; 0 means unlimited.'),
  max_vcpus: integer(
    0,
    0,
    255,
    'Maximum number of virtual processors of a sandbox; 0 means as many as the machine has.',
  ),
  max_memory_mb: integer(0, 0, 1_048_576, 'Maximum memory of a sandbox in megabytes; 0 means unlimited.'),
  overlay_mb: integer(
    1024,
    0,
    1_048_576,
    "Size in megabytes of the disk for a sandbox's changes; 0 keeps changes in its memory.",
  ),
  snapshots: flag(
    true,
    'Start sandboxes from a snapshot of a guest with the same image and size instead of booting each one. The first spawn makes the snapshot.',
  ),
});
export type MicrovmConfig = Static<typeof MicrovmConfig>;
