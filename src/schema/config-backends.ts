// The sections of providers that are somebody else's service behind a URL. No URL holds a key: it would be shown.
import type { Static } from 'typebox';
import { duration, flag, integer, secret, section, text } from './config-kinds.ts';

const BACKEND_URL = '^$|^https?://[^\\s/@?#]+(/[^\\s?#]*)?$';

export const CustomConfig = section('Sandboxes of your own HTTP service (docs/custom-provider.md).', {
  enabled: flag(false, 'Offer this provider.'),
  name: text('custom', 'Display name, shown as label.', { minLength: 1, maxLength: 64 }),
  base_url: text('', 'Base URL, for example https://sandboxes.internal/v1.', {
    pattern: BACKEND_URL,
  }),
  api_key: secret('Token sent as Authorization: Bearer.'),
  timeout: duration('60s', 'Timeout of a call to the backend; at least 1s.'),
  max_sandboxes: integer(0, 0, 1_000_000, 'Maximum number of sandboxes of this provider; 0 means unlimited.'),
});
export type CustomConfig = Static<typeof CustomConfig>;

export const HostedConfig = section('Sandboxes of a service with the HTTP API of E2B.', {
  enabled: flag(false, 'Offer this provider.'),
  base_url: text('', 'URL of its API, for example https://api.e2b.app.', { pattern: BACKEND_URL }),
  sandbox_url: text('', 'URL of its sandboxes; empty means base_url with sandbox instead of api.', {
    pattern: BACKEND_URL,
  }),
  api_key: secret('API key of the account at the service.'),
  template: text('base', 'Template for spawns that do not name an image.', { minLength: 1, maxLength: 256 }),
  timeout: duration('60s', 'Timeout of a call to the backend; at least 1s.'),
  max_sandboxes: integer(0, 0, 1_000_000, 'Maximum number of sandboxes of this provider; 0 means unlimited.'),
});
export type HostedConfig = Static<typeof HostedConfig>;
