// The providers about which only their own probe knows more: container, hosted and custom; and the programs under containers.
import { findingsOf, providerGroup } from './provider.ts';
import { vulnerabilityCheck } from './vulnerabilities.ts';

const [container, hosted, custom] = [findingsOf('container'), findingsOf('hosted'), findingsOf('custom')];

export const CONTAINER = providerGroup('container', [
  container('engine', 'Engine', 'Start the engine, or set providers.container.enabled to false.'),
  container(
    'runtime',
    'Runtime',
    'Register the runtime with the engine, or change providers.container.runtime.',
  ),
  container(
    'network',
    'Network',
    'Create the network on the engine, or change providers.container.network_mode.',
  ),
  container('agent', 'Guest agent', 'Reinstall svc.'),
  container('limits', 'Limits', 'Boot the host of the engine with the missing control groups.', {
    isLimit: true,
  }),
  container(
    'image',
    'Default image',
    'Pull the image, set defaults.image to an available image, or spawn with --provider userspace.',
    { isHint: true },
  ),
  vulnerabilityCheck({
    kind: 'container',
    programs: ['runc', 'containerd', 'dockerd'],
    // Programs elsewhere cannot be asked from here.
    unless: ({ config }) =>
      config.providers.container.host === '' ? undefined : 'The engine runs on another machine.',
  }),
]);

export const HOSTED = providerGroup('hosted', [
  hosted(
    'backend',
    'Backend',
    'Check providers.hosted.base_url, providers.hosted.api_key and the network of this machine.',
  ),
]);

export const CUSTOM = providerGroup('custom', [
  custom(
    'backend',
    'Backend',
    'Start the backend, or correct providers.custom.base_url and providers.custom.api_key.',
  ),
  custom(
    'inventory',
    'Inventory',
    'Run svc provider test custom --conformance to see which rules the backend breaks.',
  ),
]);
