// Everything that must be true of a database before it is trusted: a backup before it gets its name, a file before it
// is restored, a copy after its migrations. Checks are ordered by trust; after a failure, those that depend on it are
// skipped.
import type { Database } from 'better-sqlite3';
import type { DatabaseCheck, VerifyReport } from '../../schema/db-report.ts';
import { storeFailure } from './failures.ts';
import { databaseFacts, isOurs } from './inspect.ts';
import { SCHEMA_VERSION, schemaVersion } from './migrate.ts';
import { withReader } from './reader.ts';
import { wrongRows } from './row-check.ts';
import { schemaDifferences } from './schema-differences.ts';

/** Problems of one check. */
export const MOST_NAMED = 20;

type Check = Omit<DatabaseCheck, 'problems'> & {
  find(db: Database, known: KnownFindings): string[];
};

/** Known facts about this file. */
export interface KnownFindings {
  /** The output of PRAGMA integrity_check. */
  integrity?: readonly string[];
  /** The output of `wrongRows`. */
  rows?: readonly string[];
}

const CHECKS: readonly Check[] = [
  {
    id: 'identity',
    title: 'The database belongs to this service and has a supported version',
    find: identity,
  },
  { id: 'schema', title: 'The schema matches its version', find: schemaDifferences },
  { id: 'integrity', title: 'All pages and indexes are intact', find: integrity },
  { id: 'foreign_keys', title: 'No row refers to a missing row', find: foreignKeys },
  { id: 'counters', title: 'The counters match the rows', find: counters },
];

/** Comes last, and not for every copy: a copy is worth making whatever its rows are. */
const ROWS: Check = {
  id: 'rows',
  title: 'Every row is valid',
  find: (db, { rows }) => [...(rows ?? wrongRows(db))],
};

/** `copy`: the file holds what its origin held. `rows`: the service may also use it. */
export type Scope = 'copy' | 'rows';

/** Checks the file at `path` without changing it. Problems are in the report; throws like `withReader`. */
export function verifyDatabase(path: string, scope: Scope, known: KnownFindings = {}): VerifyReport {
  return withReader(path, (db) => {
    const wanted = scope === 'rows' ? [...CHECKS, ROWS] : CHECKS;
    const checks = runChecks(db, wanted, known);
    const ok = checks.length === wanted.length && checks.every(({ problems }) => problems.length === 0);
    return { ok, facts: databaseFacts(db, path), checks };
  });
}

function runChecks(db: Database, wanted: readonly Check[], known: KnownFindings): DatabaseCheck[] {
  const done: DatabaseCheck[] = [];
  for (const { id, title, find } of wanted) {
    const problems = found(() => find(db, known));
    done.push({ id, title, problems });
    if (problems.length > 0) break;
  }
  return done;
}

/** An unreadable page is a finding and does not stop the check. */
function found(find: () => string[]): string[] {
  try {
    return find();
  } catch (error) {
    const failure = storeFailure(error);
    if (failure.code !== 'internal') throw failure;
    return [failure.message];
  }
}

function identity(db: Database): string[] {
  if (!isOurs(db)) return ['The file is not a database of this service.'];
  const version = schemaVersion(db);
  if (version >= 1 && version <= SCHEMA_VERSION) return [];
  return [`The database has schema version ${version}, this program supports ${SCHEMA_VERSION}.`];
}

function integrity(db: Database, known: KnownFindings): string[] {
  const lines =
    known.integrity ?? db.prepare<[], string>(`PRAGMA integrity_check(${MOST_NAMED})`).pluck().all();
  return lines.length === 1 && lines[0] === 'ok' ? [] : [...lines];
}

function foreignKeys(db: Database): string[] {
  const rows = db.prepare<[], { table: string; rowid: number }>('PRAGMA foreign_key_check').iterate();
  const problems: string[] = [];
  for (const { table, rowid } of rows) {
    problems.push(`${table}, row ${rowid}`);
    if (problems.length === MOST_NAMED) break;
  }
  return problems;
}

/** The rules of `0001-foundation`: triggers count the rows that have not ended, and ids of events are reserved ahead. */
function counters(db: Database): string[] {
  const wrong = db
    .prepare<[], string>(
      `SELECT provider FROM
         (SELECT provider, active FROM active_counts
          UNION ALL SELECT provider, -1 FROM sandboxes WHERE state NOT IN ('destroyed', 'error'))
       GROUP BY provider HAVING sum(active) <> 0`,
    )
    .pluck()
    .all();
  const beyond = db
    .prepare<[], number>(
      'SELECT count(*) FROM event_ids WHERE reserved_through < (SELECT coalesce(max(id), 0) FROM events)',
    )
    .pluck()
    .get();
  const single = db.prepare<[], number>('SELECT (SELECT count(*) FROM instance) = 1').pluck().get();
  return [
    ...wrong.slice(0, MOST_NAMED).map((provider) => `Active sandboxes of ${provider} are miscounted.`),
    ...(beyond ? ['An event has an id that was not reserved.'] : []),
    ...(single ? [] : ['There is not exactly one instance.']),
  ];
}
