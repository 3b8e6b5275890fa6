// Where state is kept, and how long: a part of config.ts.
import { choice, duration, hostText, section, whole } from './config-kinds.ts';

export const DatabaseConfig = section('Where state is kept.', {
  path: hostText({
    description: 'The database file.',
    defaultText: '/var/lib/svc/svc.db for root, else ~/.svc/svc.db',
  }),
  synchronous: choice(
    ['full', 'normal'],
    'full',
    'full survives a power cut; normal may lose the last commits to one.',
  ),
  ended_retention: duration('24h', 'How long ended sandboxes are remembered.'),
  max_ended_sandboxes: whole(
    20_000,
    100,
    10_000_000,
    'How many ended sandboxes are remembered; owners with more than their share lose their oldest first.',
  ),
  event_retention: whole(
    100_000,
    100,
    100_000_000,
    'How many events are kept; owners with more than their share lose their oldest first.',
  ),
});
