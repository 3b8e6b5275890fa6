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
      remedy: 'Look at providers.hosted.base_url and its key, and at the way out of this machine.',
    }),
  ],
};
