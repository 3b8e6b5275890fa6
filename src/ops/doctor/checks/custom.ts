// The custom provider: what its own probe finds.
import type { CheckGroup } from '../check.ts';
import { findingCheck, isDisabled } from './provider.ts';

export const CUSTOM: CheckGroup = {
  id: 'custom',
  title: 'Provider custom',
  unless: isDisabled('custom'),
  checks: [
    findingCheck({
      kind: 'custom',
      name: 'backend',
      title: 'Backend',
      remedy: 'Start the backend, or set providers.custom.base_url and its key.',
    }),
    findingCheck({
      kind: 'custom',
      name: 'inventory',
      title: 'Inventory',
      remedy: 'Run svc provider test custom --conformance: it says what the backend does wrong.',
    }),
  ],
};
