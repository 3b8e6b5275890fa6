// Rules about virtual machines, asked where they are enabled.
import { findingIf, rulesOf } from '../rule.ts';

export const MICROVM_RULES = rulesOf('microvm', [
  {
    id: 'SVC901',
    key: 'providers.microvm.accelerator',
    title: 'Guests run under emulation instead of KVM.',
    why: 'An emulated guest is many times slower. An emulator also isolates less than KVM: its developers do not treat an escape from it as a security vulnerability.',
    remedy: 'Set providers.microvm.accelerator to kvm. A machine without KVM then reports an error.',
    example: 'providers:\n  microvm:\n    accelerator: kvm\n',
    level: 'off',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(
        providers.microvm.enabled && providers.microvm.accelerator !== 'kvm',
        providers.microvm.accelerator === 'auto'
          ? { message: 'Guests silently run under emulation if KVM does not work.' }
          : {},
      ),
  },
  {
    id: 'SVC902',
    key: 'providers.microvm.network',
    title: 'Guests can reach the network of this machine.',
    why: 'The monitor opens the connections of guests, so a guest can reach every service on the network and on loopback addresses, including this service.',
    remedy: 'Set providers.microvm.network to none.',
    example: 'providers:\n  microvm:\n    network: none\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.microvm.enabled && providers.microvm.network === 'user'),
  },
  {
    id: 'SVC903',
    key: 'providers.microvm.max_memory_mb',
    title: 'The memory of a guest is not limited.',
    why: 'One spawn can use the memory of the entire machine and take down the service.',
    remedy: 'Set providers.microvm.max_memory_mb to the maximum memory of a guest.',
    example: 'providers:\n  microvm:\n    max_memory_mb: 2048\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { providers } }) =>
      findingIf(providers.microvm.enabled && providers.microvm.max_memory_mb === 0),
  },
  {
    id: 'SVC904',
    key: 'pool.enabled',
    title: 'The provider microvm does not support pools.',
    why: 'The server does not start. A virtual machine of microvm is a single sandbox that runs as root, and cannot isolate several users.',
    remedy:
      'Set providers.default to container, or to userspace if the server runs as root, or set pool.enabled to false.',
    example: 'pool:\n  enabled: true\nproviders:\n  default: container\n',
    level: 'error',
    production: 'error',
    check: ({ config: { pool, providers } }) => findingIf(pool.enabled && providers.default === 'microvm'),
  },
]);
