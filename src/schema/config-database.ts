// Where state is kept, and how long: a part of config.ts.
import { choice, duration, hostText, integer, section } from './config-kinds.ts';

export const DatabaseConfig = section('The database.', {
  path: hostText({
    description: 'The database file.',
    defaultText: '/var/lib/svc/svc.db for root, else ~/.svc/svc.db',
  }),
  synchronous: choice(
    ['full', 'normal'],
    'full',
    'full survives a power failure; normal may lose the last commits.',
  ),
  ended_retention: duration('24h', 'How long ended sandboxes are kept.'),
  max_ended_sandboxes: integer(
    20_000,
    100,
    10_000_000,
    'How many ended sandboxes are kept; the oldest ones of owners above their fair share are deleted first.',
  ),
  event_retention: integer(
    100_000,
    100,
    100_000_000,
    'How many events are kept; the oldest ones of owners above their fair share are deleted first.',
  ),
});
