// Rules about sandboxes from namespaces alone, asked where they are enabled.
import { findingIf, rulesOf } from '../rule.ts';

export const USERSPACE_RULES = rulesOf('userspace', [
  {
    id: 'SVC701',
    key: 'providers.default',
    title: 'Spawns can use the userspace provider without requesting it.',
    why: 'The provider isolates only with namespaces of the host kernel, and sandboxes see the programs of the host. With auto, it also silently replaces the container provider when the engine is down.',
    remedy: 'Set providers.default to container, or providers.userspace.enabled to false.',
    example: 'providers:\n  default: container\n  userspace:\n    enabled: false\n',
    level: 'off',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(
        providers.userspace.enabled && providers.default !== 'container',
        providers.default === 'auto' && providers.container.enabled
          ? { message: 'The userspace provider runs spawns when the container engine is down.' }
          : {},
      ),
  },
  {
    id: 'SVC702',
    key: 'providers.userspace.runner',
    title: 'proot does not isolate the files, processes and network of the host from sandboxes.',
    why: 'proot only rewrites the paths of programs that cooperate. Any other program in the sandbox reads and writes every file that the service may, sees and signals its processes, uses its network without limits on memory and processors, and can keep running after the sandbox ends.',
    remedy: 'Set providers.userspace.runner to auto, bwrap or unshare.',
    example: 'providers:\n  userspace:\n    runner: bwrap\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.userspace.enabled && providers.userspace.runner === 'proot'),
  },
  {
    id: 'SVC703',
    key: 'providers.userspace.network',
    title: 'Sandboxes share the network of this machine.',
    why: 'A sandbox can reach every service on loopback addresses, including this service, and abstract sockets of the host.',
    remedy: 'Set providers.userspace.network to none.',
    example: 'providers:\n  userspace:\n    network: none\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.userspace.enabled && providers.userspace.network === 'host'),
  },
  {
    id: 'SVC704',
    key: 'providers.userspace.user',
    title: 'Shared VMs do not run commands as the user of an image.',
    why: 'Userspace then hosts no shared VMs, so spawns fail or go to another provider. Users of a shared VM are its tenants and each have a uid.',
    remedy: 'Set providers.userspace.user to sandbox, or pool.enabled to false.',
    example: 'providers:\n  userspace:\n    user: sandbox\n',
    level: 'error',
    production: 'error',
    check: ({ config: { pool, providers } }) =>
      findingIf(pool.enabled && providers.userspace.enabled && providers.userspace.user !== 'sandbox'),
  },
  {
    id: 'SVC705',
    key: 'providers.userspace.network',
    title: 'Sandboxes without an egress policy reach all public addresses.',
    why: 'Programs can send anything anywhere, and receive commands from there. No name decides, and nothing is logged.',
    remedy:
      'Set providers.userspace.network to none, and allow what sandboxes need with egress.default_policy (docs/network.md).',
    example: 'providers:\n  userspace:\n    network: none\n',
    level: 'warning',
    production: 'warning',
    check: ({ config: { providers } }) =>
      findingIf(providers.userspace.enabled && providers.userspace.network === 'user'),
  },
]);
