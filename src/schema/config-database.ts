// Where state is kept, and how long: a part of config.ts.
import { choice, duration, flag, hostText, integer, secret, section } from './config-kinds.ts';

export const DatabaseConfig = section('The database: a file, or a PostgreSQL database named by url.', {
  path: hostText({
    description: 'The database file.',
    defaultText: '/var/lib/svc/svc.db for root, else ~/.svc/svc.db',
  }),
  url: secret(
    'The PostgreSQL database to use instead of a file, for example postgres://svc:PASSWORD@db1:5432,db2:5432/svc?sslmode=verify-full&sslrootcert=/etc/svc/db-ca.pem. Any of the hosts may be the primary. The server then runs no container, userspace or microvm sandboxes itself; `svc worker` does, also on the same host. Several servers may use one database.',
  ),
  pool: integer(10, 4, 100, 'Connections of one server to the PostgreSQL database.'),
  prepare: flag(
    true,
    'Use prepared statements; false for a pooler in front of PostgreSQL that does not keep them.',
  ),
  listen: flag(
    true,
    'Wake other servers by LISTEN and NOTIFY in PostgreSQL; false behind a pooler that does not pass notifications: servers then notice each other by polling, up to a second later.',
  ),
  require_sync_standby: flag(
    true,
    'Warn at the start if commits in PostgreSQL do not wait for a standby; false if the database replicates by other means, as many hosted databases do.',
  ),
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
