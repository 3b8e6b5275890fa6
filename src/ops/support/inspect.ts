// `svc support inspect`: what in a bundle deserves a look.
import { resolve } from 'node:path';
import type { Bundle, BundleFinding, BundleInspection, SectionId } from '../../schema/bundle.ts';
import { readBundle } from './read-bundle.ts';

/** What is shown of what a bundle says: a table is as wide as its longest text. */
const MOST_FINDINGS = 1000;
const LONGEST_MESSAGE = 1000;

/** Throws as `readBundle`. */
export function inspectBundle(path: string): BundleInspection {
  const bundle = readBundle(path);
  return {
    file: resolve(path),
    created_at: bundle.created_at,
    program_version: bundle.program_version,
    index: bundle.index,
    findings: shown([
      ...indexFindings(bundle),
      ...FINDERS.flatMap(([section, find]) => findIn(bundle, section, find)),
    ]),
    redacted: bundle.redactions.reduce((sum, { count }) => sum + (Number(count) || 0), 0),
  };
}

function shown(findings: BundleFinding[]): BundleFinding[] {
  const more = findings.length - MOST_FINDINGS;
  const kept = findings.slice(0, MOST_FINDINGS).map((found) => ({
    ...found,
    message:
      found.message.length > LONGEST_MESSAGE ? `${found.message.slice(0, LONGEST_MESSAGE)}…` : found.message,
  }));
  if (more <= 0) return kept;
  return [
    ...kept,
    { severity: 'warning', section: 'index', message: `${more} more findings are not shown.` },
  ];
}

type SectionFinding = Omit<BundleFinding, 'section'>;
type Fields = Record<string, unknown>;

const error = (message: string): SectionFinding => ({ severity: 'error', message });
const warning = (message: string): SectionFinding => ({ severity: 'warning', message });
const list = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'object' && each !== null) : [];
const fields = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

const FINDERS: readonly [SectionId, (section: Fields) => SectionFinding[]][] = [
  [
    'configuration',
    ({ problems }) => (Array.isArray(problems) ? problems.map((each) => error(String(each))) : []),
  ],
  ['lint', (lint) => list(lint.findings).map((each) => lintFinding(each))],
  ['doctor', doctorFindings],
  ['database', databaseFindings],
  ['server', serverFindings],
];

function findIn(
  bundle: Bundle,
  section: SectionId,
  find: (section: Fields) => SectionFinding[],
): BundleFinding[] {
  return find(fields(bundle.sections[section])).map((found) => ({ ...found, section }));
}

function indexFindings({ index }: Bundle): BundleFinding[] {
  return index
    .filter(({ status }) => status === 'failed')
    .map(({ section, reason }) => ({
      severity: 'warning',
      section: 'index',
      message: `The section ${section} could not be collected: ${reason}.`,
    }));
}

function lintFinding({ rule, level, key, message }: Fields): SectionFinding {
  return { severity: level === 'error' ? 'error' : 'warning', message: `${rule} ${key}: ${message}` };
}

function doctorFindings({ groups }: Fields): SectionFinding[] {
  return list(groups)
    .flatMap(({ checks }) => list(checks))
    .filter(({ verdict }) => verdict === 'fail' || verdict === 'warn')
    .map(({ verdict, title, message }) => (verdict === 'fail' ? error : warning)(`${title}: ${message}`));
}

function databaseFindings({
  ours,
  schema_version,
  known_schema_version,
  wal_bytes,
}: Fields): SectionFinding[] {
  return [
    ...(ours === false ? [error('The database does not belong to this service or cannot be read.')] : []),
    ...(Number(schema_version) > Number(known_schema_version)
      ? [error('A newer version of svc wrote the database.')]
      : []),
    ...(Number(wal_bytes) > 256 * 1024 * 1024
      ? [warning('The write-ahead log is large because a reader blocks its checkpoint.')]
      : []),
  ];
}

function serverFindings({ health, diagnostics }: Fields): SectionFinding[] {
  const { logs, providers } = fields(diagnostics);
  const { status } = fields(health);
  const lines = list(logs);
  const at = (level: string) => lines.filter((line) => line.level === level);
  const errors = at('error');
  return [
    ...(status !== undefined && status !== 'ok' ? [error(`The health of the server is ${status}.`)] : []),
    ...list(providers)
      .filter(({ healthy }) => healthy === false)
      .map((each) =>
        warning(`The provider ${each.name} is not healthy${each.error ? `: ${each.error}` : ''}.`),
      ),
    ...(errors.length > 0
      ? [error(`The log contains ${errors.length} errors. The last error: ${String(errors.at(-1)?.message)}`)]
      : []),
    ...(at('warn').length > 0 ? [warning(`The log contains ${at('warn').length} warnings.`)] : []),
  ];
}
