// Databases, backups and reports about them as text for people.

import { printable, printableLines } from '../domain/printable.ts';
import type {
  AcceptReport,
  BackupReport,
  CopiedTable,
  CopyReport,
  DatabaseFacts,
  PostgresFacts,
  RestoreReport,
  TableFacts,
  VerifyReport,
} from '../schema/db-report.ts';
import { paintFor } from './paint.ts';
import { line } from './print.ts';
import { type Column, facts, sizeText, table } from './render.ts';

/** Progress texts by stage. */
export const STAGE_WORDS: Readonly<Record<string, string>> = {
  copy: 'Copying',
  rows: 'Copying rows',
  compare: 'Comparing the copy with the original',
  check: 'Checking the copy',
  fold: 'Closing the current database',
  keep: 'Keeping the current database',
  clear: 'Removing logs',
  install: 'Renaming it',
  migrate: 'Migrating the copy',
  load: 'Loading every record',
};

const COLUMNS: Column<TableFacts>[] = [
  { title: 'table', value: ({ name }) => name },
  { title: 'rows', value: ({ rows }) => rows, align: 'right' },
  { title: 'oldest', value: ({ oldest }) => oldest },
  { title: 'newest', value: ({ newest }) => newest },
];

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

export function backupText(report: BackupReport): string {
  return facts([
    ['backup', report.output],
    ['size', sizeText(report.size_bytes)],
    ['rows', report.rows],
    ['schema version', report.schema_version],
    ['instance', report.instance],
    ['sha256', report.sha256],
    ['took', seconds(report.duration_ms)],
  ]);
}

export function restoreText(report: RestoreReport): string {
  return facts([
    [report.dry_run ? 'would restore' : 'restored', report.database],
    ['from', report.input],
    ['size', sizeText(report.size_bytes)],
    ['rows', report.rows],
    ['schema version', report.schema_version],
    ['sha256', report.sha256],
    ['warnings', report.warnings],
    ['kept', report.safety_copy],
    ['to undo', report.way_back],
    ['took', seconds(report.duration_ms)],
  ]);
}

export function inspectText(found: DatabaseFacts): string {
  return `${factsText(found)}\n\n${table(found.tables, COLUMNS, 'No tables of a known schema.')}`;
}

function factsText(found: DatabaseFacts): string {
  return facts([
    ['file', found.file],
    ['size', sizeText(found.size_bytes)],
    ['log beside it', found.wal_bytes > 0 ? sizeText(found.wal_bytes) : undefined],
    ['of this service', found.ours ? 'yes' : 'no'],
    ['schema version', `${found.schema_version} (this program knows ${found.known_schema_version})`],
    ['instance', found.instance],
  ]);
}

export function verifyText({ ok, facts: found, checks }: VerifyReport): string {
  const paint = paintFor(process.stdout);
  const lines = checks.flatMap(({ title, problems }) => [
    `${problems.length === 0 ? paint.green('pass') : paint.red('fail')}  ${printable(title)}`,
    ...problems.map((problem) => line`      ${problem}`),
  ]);
  const verdict = ok ? 'All checks passed.' : 'The database is damaged; do not restore it.';
  return `${printable(found.file)}\n\n${lines.join('\n')}\n\n${verdict}`;
}

export function acceptText({ database, accepted }: AcceptReport): string {
  if (!accepted) return `No loss is recorded for ${printable(database)}.`;
  const { log, found_at } = accepted;
  return printable(`Accepted: the log of ${database} was ${log} at ${found_at}.`);
}

const COPIED: Column<CopiedTable>[] = [
  { title: 'table', value: ({ name }) => name },
  { title: 'rows', value: ({ rows }) => rows, align: 'right' },
  { title: 'sha256', value: ({ sha256 }) => sha256.slice(0, 16) },
];

export function copyText(report: CopyReport): string {
  const copied = facts([
    ['copied', report.from],
    ['to', report.to],
    ['rows', report.rows],
    ['schema version', report.schema_version],
    ['instance', report.instance],
    ['warnings', report.warnings],
    ['kept', report.safety_copy],
    ['to undo', report.way_back],
    ['took', seconds(report.duration_ms)],
  ]);
  const tables = table(report.tables, COPIED, 'No tables.');
  const next =
    'Every row of the copy equals its original. Put this into the configuration before the next start:';
  return `${copied}\n\n${tables}\n\n${next}\n\n${printableLines(report.configuration).trimEnd()}`;
}

const SIZES: Column<PostgresFacts['tables'][number]>[] = [
  { title: 'table', value: ({ name }) => name },
  { title: 'rows (estimate)', value: ({ rows }) => rows, align: 'right' },
  { title: 'size', value: ({ bytes }) => sizeText(bytes), align: 'right' },
];

export function postgresText(found: PostgresFacts): string {
  const { replicas = [], roles = [] } = found;
  const shown = facts([
    ['database', found.database],
    ['hosts', found.hosts.map(({ host, state }) => `${host} (${state})`)],
    ['server version', found.server_version],
    ['encrypted', found.encrypted ? 'yes' : 'no'],
    ['size', sizeText(found.size_bytes)],
    ['standbys', found.standbys],
    ['schema version', `${found.schema_version} (this program knows ${found.known_schema_version})`],
    ['instance', found.instance],
    ['servers', replicas.map(({ id, url, alive }) => `${id} at ${url}${alive ? '' : ' (silent)'}`)],
    ['roles', roles.map(({ name, holder }) => `${name}: ${holder ?? 'nobody'}`)],
    ['waiting spawns', found.waiting_spawns],
  ]);
  return `${shown}\n\n${table(found.tables, SIZES, 'No tables.')}`;
}
