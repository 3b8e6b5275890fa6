// The container provider: what its own probe finds, and what is known against the programs under it.
import type { CheckGroup } from '../check.ts';
import { findingCheck, isDisabled } from './provider.ts';
import { vulnerabilityCheck } from './vulnerabilities.ts';

export const CONTAINER: CheckGroup = {
  id: 'container',
  title: 'Provider container',
  unless: isDisabled('container'),
  checks: [
    findingCheck({
      kind: 'container',
      name: 'engine',
      title: 'Engine',
      remedy: 'Start the engine, or set providers.container.enabled to false.',
    }),
    findingCheck({
      kind: 'container',
      name: 'runtime',
      title: 'Runtime',
      remedy: 'Register the runtime with the engine, or change providers.container.runtime.',
    }),
    findingCheck({
      kind: 'container',
      name: 'network',
      title: 'Network',
      remedy: 'Create the network on the engine, or change providers.container.network_mode.',
    }),
    findingCheck({ kind: 'container', name: 'agent', title: 'Guest agent', remedy: 'Reinstall svc.' }),
    findingCheck({
      kind: 'container',
      name: 'limits',
      title: 'Limits',
      remedy: 'Boot the host of the engine with the missing control groups.',
      isLimit: true,
    }),
    findingCheck({
      kind: 'container',
      name: 'image',
      title: 'Default image',
      remedy: 'Pull the image, set defaults.image to an available image, or spawn with --provider userspace.',
      isHint: true,
    }),
    vulnerabilityCheck({
      kind: 'container',
      programs: ['runc', 'containerd', 'dockerd'],
      // Programs elsewhere cannot be asked from here.
      unless: ({ config }) =>
        config.providers.container.host === '' ? undefined : 'The engine runs on another machine.',
    }),
  ],
};
