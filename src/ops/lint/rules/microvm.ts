// Rules about virtual machines, asked where they are enabled.
import { findingIf, type LintRule } from '../rule.ts';

export const MICROVM_RULES: readonly LintRule[] = [
  {
    id: 'SVC901',
    topic: 'microvm',
    key: 'providers.microvm.accelerator',
    title: 'Guests are emulated where the processor could run them.',
    why: 'An emulated guest is many times slower, and an emulator is a weaker wall than KVM: its makers do not count a way out of it as a security fault.',
    remedy: 'Set providers.microvm.accelerator to kvm; then a machine without it says so.',
    example: 'providers:\n  microvm:\n    accelerator: kvm\n',
    level: 'off',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(
        providers.microvm.enabled && providers.microvm.accelerator !== 'kvm',
        providers.microvm.accelerator === 'auto'
          ? { message: 'Guests are emulated without a word where KVM does not work.' }
          : {},
      ),
  },
  {
    id: 'SVC902',
    topic: 'microvm',
    key: 'providers.microvm.network',
    title: 'Guests reach what this machine reaches.',
    why: 'Their connections are made by the monitor: a guest gets to every service of this network and on loopback, this one included.',
    remedy: 'Set providers.microvm.network to none.',
    example: 'providers:\n  microvm:\n    network: none\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.microvm.enabled && providers.microvm.network === 'user'),
  },
  {
    id: 'SVC903',
    topic: 'microvm',
    key: 'providers.microvm.max_memory_mb',
    title: 'A guest gets as much memory as it asks for.',
    why: 'One spawn can then take the memory of the machine, and with it the service.',
    remedy: 'Set providers.microvm.max_memory_mb to what a guest may have at most.',
    example: 'providers:\n  microvm:\n    max_memory_mb: 2048\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { providers } }) =>
      findingIf(providers.microvm.enabled && providers.microvm.max_memory_mb === 0),
  },
  {
    id: 'SVC904',
    topic: 'microvm',
    key: 'pool.enabled',
    title: 'Sandboxes are to share virtual machines of a provider that hosts no pools.',
    why: 'The server does not start: a virtual machine of microvm is one sandbox with root in it, and cannot hold several users apart.',
    remedy:
      'Set providers.default to container, or to userspace where the server runs as root; or pool.enabled to false.',
    example: 'pool:\n  enabled: true\nproviders:\n  default: container\n',
    level: 'error',
    production: 'error',
    check: ({ config: { pool, providers } }) => findingIf(pool.enabled && providers.default === 'microvm'),
  },
];
