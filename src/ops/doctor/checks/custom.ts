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
      remedy: 'Start the backend, or correct providers.custom.base_url and providers.custom.api_key.',
    }),
    findingCheck({
      kind: 'custom',
      name: 'inventory',
      title: 'Inventory',
      remedy: 'Run svc provider test custom --conformance to see which rules the backend breaks.',
    }),
  ],
};
