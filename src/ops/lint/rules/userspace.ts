// Rules about sandboxes from namespaces alone, asked where they are enabled.
import { findingIf, type LintRule } from '../rule.ts';

export const USERSPACE_RULES: readonly LintRule[] = [
  {
    id: 'SVC701',
    topic: 'userspace',
    key: 'providers.default',
    title: 'Sandboxes may be made by the userspace provider without being asked for.',
    why: 'It separates by namespaces on the kernel of this machine, with the programs of this machine in sight. With auto it also steps in silently when the container engine is down.',
    remedy: 'Set providers.default to container, or providers.userspace.enabled to false.',
    example: 'providers:\n  default: container\n  userspace:\n    enabled: false\n',
    level: 'off',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(
        providers.userspace.enabled && providers.default !== 'container',
        providers.default === 'auto' && providers.container.enabled
          ? { message: 'The userspace provider steps in when the container engine is down.' }
          : {},
      ),
  },
  {
    id: 'SVC702',
    topic: 'userspace',
    key: 'providers.userspace.runner',
    title: 'proot separates nothing.',
    why: 'A program in such a sandbox sees and does whatever the service itself may, and can go on when the sandbox ends.',
    remedy: 'Set providers.userspace.runner to auto, bwrap or unshare.',
    example: 'providers:\n  userspace:\n    runner: bwrap\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.userspace.enabled && providers.userspace.runner === 'proot'),
  },
  {
    id: 'SVC703',
    topic: 'userspace',
    key: 'providers.userspace.network',
    title: 'Sandboxes share the network of this machine.',
    why: 'A sandbox then reaches every service on loopback, this one included, and abstract sockets of the host.',
    remedy: 'Set providers.userspace.network to none.',
    example: 'providers:\n  userspace:\n    network: none\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.userspace.enabled && providers.userspace.network === 'host'),
  },
];
