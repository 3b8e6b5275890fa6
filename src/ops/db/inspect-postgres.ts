// Facts of a PostgreSQL database, for `svc db inspect` and support bundles. Rows stay out, and so does the URL.
import { displayUrl } from '../../domain/database-address.ts';
import type { Clock } from '../../domain/ports.ts';
import type { PostgresFacts } from '../../schema/db-report.ts';
import type { Event } from '../../schema/event.ts';
import { PostgresExam } from '../../store/postgres/examine.ts';
import { SCHEMA_VERSION } from '../../store/postgres/migrate.ts';
import { type EventRow, fromEventRow } from '../../store/rows.ts';

/** The version that has all tables that are asked for. */
const WITH_TICKETS = 22;

/** Throws `bad_request`, `unavailable`, and `conflict` for a database of another program or version. */
export async function inspectPostgres(url: string, clock: Clock): Promise<PostgresFacts> {
  const exam = new PostgresExam(url, clock);
  try {
    const facts = await exam.facts();
    const { version } = await exam.schema();
    const base: PostgresFacts = {
      database: displayUrl(url),
      hosts: await exam.hosts(),
      server_version: facts.version,
      encrypted: facts.encrypted,
      size_bytes: facts.database_bytes,
      synchronous_standby_names: facts.synchronous_standby_names,
      standbys: facts.standbys,
      schema_version: version,
      known_schema_version: SCHEMA_VERSION,
      tables: version === 0 ? [] : await exam.tables(),
    };
    if (version < WITH_TICKETS) return base;
    const [instance] = await exam.ask<{ id: string }>('SELECT id FROM instance');
    return {
      ...base,
      instance: instance?.id ?? '',
      replicas: await exam.replicas(),
      roles: await exam.roles(),
      waiting_spawns: await exam.tickets(),
    };
  } finally {
    await exam.close();
  }
}

/** The newest events, oldest first; none of a database that no server has used. */
export async function newestPostgresEvents(
  url: string,
  { clock, most }: { clock: Clock; most: number },
): Promise<Event[]> {
  const exam = new PostgresExam(url, clock);
  try {
    if ((await exam.schema()).version === 0) return [];
    const rows = await exam.ask<EventRow>(
      'SELECT id, type, timestamp, sandbox_id, owner_id, actor, data FROM events ORDER BY id DESC LIMIT $1',
      [most],
    );
    return rows.reverse().map(fromEventRow);
  } finally {
    await exam.close();
  }
}
