// The PostgreSQL database that `database.url` names, as a server here would use it.
import type { HostSeen, PostgresExam, ReplicaSeen } from '../../../store/postgres/examine.ts';
import { SCHEMA_VERSION } from '../../../store/postgres/migrate.ts';
import {
  type Check,
  type CheckContext,
  type CheckGroup,
  type Finding,
  fail,
  failInProduction,
  pass,
  skip,
  warn,
} from '../check.ts';

const OLDEST_VERSION = 140_000;
const COMMITS = 20;
const SLOW_TRIP_MS = 10;
const SLOW_COMMIT_MS = 50;
const VERY_SLOW_COMMIT_MS = 500;
const MOST_OFFSET_MS = 5000;
/** A server uses two connections beside its pool, for beats and for notifications. */
const OWN_CONNECTIONS = 2;
/** For operators, backups and monitoring. */
const SPARE_CONNECTIONS = 5;

type Look = (exam: PostgresExam, context: CheckContext) => Promise<Finding>;

const look = (name: string, title: string, run: Look, deadlineMs = 10_000): Check => ({
  name,
  title,
  deadlineMs,
  look: (context) => run(context.postgres(), context),
});

export const POSTGRES: CheckGroup = {
  id: 'postgres',
  title: 'PostgreSQL',
  unless: ({ database }) => (database.url === undefined ? 'The database is a file.' : undefined),
  checks: [
    look('hosts', 'Hosts', async (exam) => judgeHosts(await exam.hosts())),
    look('version', 'Version', async (exam) => {
      const { version, version_number } = await exam.facts();
      if (version_number >= OLDEST_VERSION) return pass(`The server has version ${version}.`);
      return fail(`The server has version ${version}; 14 or newer is needed.`, 'Upgrade PostgreSQL.');
    }),
    look('tls', 'Encryption', encryption),
    look('rights', 'Rights', rights),
    look('schema', 'Schema', schema),
    look('latency', 'Round trip and commit time', latency, 30_000),
    look('standby', 'Synchronous standbys', standbys),
    look('connections', 'Connections', connections, 15_000),
    look('pooler', 'Pooler', pooler),
    look('clock', 'Clock', async (exam) => {
      const offset = await exam.clockOffset();
      const words = `The clock of the database is ${Math.abs(Math.round(offset))} ms ${offset < 0 ? 'behind' : 'ahead'}.`;
      return Math.abs(offset) <= MOST_OFFSET_MS
        ? pass(words)
        : warn(words, 'Synchronize the clocks of all hosts, for example with chrony.');
    }),
    look('secrets', 'Key for stored secrets', async (_, context) => judgeKey(context)),
    look(
      'replicas',
      'Servers on this database',
      async (exam) => judgeReplicas(await seenReplicas(exam)),
      15_000,
    ),
  ],
};

function judgeKey({ config: { secrets, egress } }: CheckContext): Finding {
  if (!egress.enabled) return skip('egress.enabled is false.');
  if (secrets.key !== undefined) return pass('secrets.key seals egress credentials.');
  return warn(
    'Egress credentials cannot be stored: secrets.key is not set.',
    'Write at least 32 random characters to a file, the same on every server, and set secrets.key_file to its path.',
  );
}

function judgeHosts(hosts: readonly HostSeen[]): Finding {
  const words = hosts.map(({ host, state, reason }) =>
    state === 'primary' ? `${host} is the primary.` : `${host}: ${reason}`,
  );
  const primaries = hosts.filter(({ state }) => state === 'primary').length;
  if (primaries === 0)
    return fail(words.join(' '), 'Start PostgreSQL, promote a standby, or list the primary in database.url.');
  if (primaries > 1)
    return fail(
      `${words.join(' ')} More than one host accepts writes.`,
      'List only hosts of one cluster, and stop a former primary that was not demoted.',
    );
  if (hosts.some(({ state }) => state === 'down'))
    return warn(words.join(' '), 'Start the hosts that do not answer, or remove them from database.url.');
  return pass(words.join(' '));
}

async function encryption(exam: PostgresExam, context: CheckContext): Promise<Finding> {
  const { encrypted } = await exam.facts();
  if (exam.tls === 'verify-full')
    return encrypted
      ? pass('The connection is encrypted, and the identity of the server is checked.')
      : fail('The connection is not encrypted.', 'Switch on ssl in PostgreSQL.');
  const words =
    exam.tls === 'require'
      ? 'The connection is encrypted, but the identity of the server is not checked.'
      : 'The connection is not encrypted.';
  return failInProduction(context, words, 'Set sslmode=verify-full in database.url.');
}

async function rights(exam: PostgresExam): Promise<Finding> {
  const { superuser, may_create, open_to_others, others } = await exam.facts();
  if (!may_create)
    return fail(
      'The user of database.url cannot create tables, so it cannot migrate the schema.',
      'Make the user the owner of the database, or grant it CREATE on the schema.',
    );
  if (superuser)
    return warn(
      'The user of database.url is a superuser, so whoever has the URL controls the entire server.',
      'Use a role that only owns this database.',
    );
  if (open_to_others && others > 0)
    return warn(
      `Other users of this PostgreSQL server (${others}) may connect to the database, and hinder the service by locks and notifications.`,
      'Run REVOKE CONNECT ON DATABASE … FROM PUBLIC as the owner of the database.',
    );
  return pass('The user may use and migrate the schema, and is not a superuser.');
}

async function schema(exam: PostgresExam): Promise<Finding> {
  const [{ version }, { encoding }] = [await exam.schema(), await exam.facts()];
  if (encoding !== 'UTF8')
    return fail(
      `The database has the encoding ${encoding}, which lacks characters that callers may use.`,
      'Dump it, create one with `createdb --encoding UTF8 --template template0`, restore the dump, and set database.url to it.',
    );
  if (version === 0) return pass('The database is empty. The first start creates the schema.');
  if (version > SCHEMA_VERSION)
    return pass(`The schema has version ${version}, which also works with this program.`);
  const next = version < SCHEMA_VERSION ? `; the next start migrates it to version ${SCHEMA_VERSION}` : '';
  return pass(`The schema has version ${version}${next}.`);
}

async function latency(exam: PostgresExam, context: CheckContext): Promise<Finding> {
  const { trips, commits } = await exam.latencies(COMMITS);
  const [trip, commit, worst] = [middle(trips), middle(commits), Math.max(...commits)];
  const words = `A round trip takes ${trip.toFixed(1)} ms, a commit ${commit.toFixed(1)} ms, the slowest of ${COMMITS} ${worst.toFixed(1)} ms.`;
  if (commit > VERY_SLOW_COMMIT_MS)
    return failInProduction(
      context,
      words,
      'Use faster disks, or standbys that are closer. Every spawn waits for commits.',
    );
  if (trip > SLOW_TRIP_MS)
    return warn(words, 'Run the servers in the region of the primary. Every exec waits for a round trip.');
  return commit > SLOW_COMMIT_MS
    ? warn(words, 'Use faster disks, or standbys that are closer. Every spawn waits for commits.')
    : pass(words);
}

const middle = (times: readonly number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

async function standbys(exam: PostgresExam, context: CheckContext): Promise<Finding> {
  const facts = await exam.facts();
  const waits =
    facts.synchronous_standby_names !== '' && !['off', 'local'].includes(facts.synchronous_commit);
  if (!context.config.database.require_sync_standby)
    return pass(waits ? 'Commits wait for a standby.' : 'database.require_sync_standby is false.');
  if (!waits)
    return failInProduction(
      context,
      'Commits do not wait for a standby, so a failover can lose acknowledged changes.',
      'Set synchronous_standby_names in PostgreSQL, or database.require_sync_standby to false if the database replicates by other means.',
    );
  if (!facts.may_see_standbys)
    return pass(
      `Commits wait for a standby. ${facts.standbys} standbys are connected; this user cannot see which ones.`,
    );
  if (facts.synchronous === 0)
    return fail(
      'Commits wait for a synchronous standby, and none is connected: every write hangs.',
      'Start a standby, or remove the missing ones from synchronous_standby_names.',
    );
  return pass(
    `Commits wait for a standby; ${facts.synchronous} of ${facts.standbys} connected ones are synchronous.`,
  );
}

async function connections(exam: PostgresExam, context: CheckContext): Promise<Finding> {
  const { max_connections } = await exam.facts();
  const servers = Math.max(1, (await seenReplicas(exam)).filter(({ alive }) => alive).length);
  const each = context.config.database.pool + OWN_CONNECTIONS;
  const needed = servers * each + SPARE_CONNECTIONS;
  const words = `${servers} servers use up to ${each} connections each; PostgreSQL allows ${max_connections}.`;
  if (needed <= max_connections) return pass(words);
  return failInProduction(
    context,
    words,
    `Set max_connections to ${needed} or more, or lower database.pool.`,
  );
}

async function pooler(exam: PostgresExam, { config }: CheckContext): Promise<Finding> {
  const { keepsPrepared, passesNotifications } = await exam.pooling();
  if (!keepsPrepared && config.database.prepare)
    return fail(
      'Prepared statements do not stay on the connection, as behind a pooler in transaction mode.',
      'Set database.prepare to false, or connect to PostgreSQL directly.',
    );
  if (!passesNotifications)
    return warn(
      'Notifications do not arrive, as behind a pooler in transaction mode: servers notice each other only by polling.',
      'Connect to PostgreSQL directly, or use a pooler in session mode.',
    );
  return pass('Prepared statements and notifications work.');
}

const seenReplicas = async (exam: PostgresExam): Promise<ReplicaSeen[]> =>
  (await exam.schema()).version < 21 ? [] : exam.replicas();

function judgeReplicas(all: readonly ReplicaSeen[]): Finding {
  const alive = all.filter((replica) => replica.alive);
  if (alive.length === 0) return skip('No server uses the database now.');
  const names = alive.map(({ id, url, version }) => `${id} at ${url} (${version})`).join(', ');
  const words = `${alive.length} ${alive.length === 1 ? 'server uses' : 'servers use'} the database: ${names}.`;
  if (new Set(alive.map(({ config_print }) => config_print)).size > 1)
    return warn(
      `${words} Their configurations differ in keys that must be equal.`,
      'Give all servers the same configuration, apart from server.host, server.port and paths.',
    );
  return pass(words);
}
