// What sandboxes use: a part of config.ts.
import type { Static } from 'typebox';
import { duration, flag, integer, section, strings } from './config-kinds.ts';

export const UsageConfig = section(
  'What sandboxes use: measurements, and the ledger by owner (docs/usage.md).',
  {
    enabled: flag(
      true,
      'Measure running sandboxes. If false, the ledger has their allocated time, and the commands that ran, only.',
    ),
    interval: duration(
      '10s',
      'How often a sandbox is measured; at least 2s. With many sandboxes it takes longer.',
    ),
    history_mb: integer(
      32,
      0,
      4096,
      'Memory for the newest measurements of sandboxes, in megabytes; about 120 sandboxes fit in one. They are lost when the server stops.',
    ),
    retention_hours: duration(
      '960h',
      'How long the ledger has use by hour, and by sandbox after its end; at least 24h. Then it has use by day.',
    ),
    retention_days: duration('8760h', 'How long the ledger has use by day; at least as long as by hour.'),
    exposed_owners: strings(
      'Owners with Prometheus series of their own; all others together are other. At most 50.',
      { maxLength: 128 },
    ),
  },
);
export type UsageConfig = Static<typeof UsageConfig>;
