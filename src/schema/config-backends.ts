// The sections of providers that are somebody else's service behind a URL. No URL holds a key: it would be shown.
import type { Static } from 'typebox';
import { duration, flag, secret, section, text, whole } from './config-kinds.ts';

const BACKEND_URL = '^$|^https?://[^\\s/@?#]+(/[^\\s?#]*)?$';

export const CustomConfig = section('Sandboxes of your own HTTP service (docs/custom-provider.md).', {
  enabled: flag(false, 'Offer this provider.'),
  name: text('custom', 'What people call it; shown as label.', { minLength: 1, maxLength: 64 }),
  base_url: text('', 'Where it answers, for example https://sandboxes.internal/v1.', {
    pattern: BACKEND_URL,
  }),
  api_key: secret('Sent to it as Authorization: Bearer.'),
  timeout: duration('60s', 'How long it may take to answer a call; at least 1s.'),
  max_sandboxes: whole(0, 0, 1_000_000, 'Sandboxes of this provider at most; 0 is no cap.'),
});
export type CustomConfig = Static<typeof CustomConfig>;

export const HostedConfig = section('Sandboxes of a service with the HTTP API of E2B.', {
  enabled: flag(false, 'Offer this provider.'),
  base_url: text('', 'Where its API answers, for example https://api.e2b.app.', { pattern: BACKEND_URL }),
  sandbox_url: text('', 'Where its sandboxes answer; empty is base_url with sandbox in place of api.', {
    pattern: BACKEND_URL,
  }),
  api_key: secret('The key of the account there.'),
  template: text('base', 'Template of a spawn that names no image.', { minLength: 1, maxLength: 256 }),
  timeout: duration('60s', 'How long it may take to answer a call; at least 1s.'),
  max_sandboxes: whole(0, 0, 1_000_000, 'Sandboxes of this provider at most; 0 is no cap.'),
});
export type HostedConfig = Static<typeof HostedConfig>;
