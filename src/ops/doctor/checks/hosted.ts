// The hosted provider: what its own probe finds.
import type { CheckGroup } from '../check.ts';
import { findingCheck, isDisabled } from './provider.ts';

export const HOSTED: CheckGroup = {
  id: 'hosted',
  title: 'Provider hosted',
  unless: isDisabled('hosted'),
  checks: [
    findingCheck({
      kind: 'hosted',
      name: 'backend',
      title: 'Backend',
      remedy: 'Check providers.hosted.base_url, providers.hosted.api_key and the network of this machine.',
    }),
  ],
};
