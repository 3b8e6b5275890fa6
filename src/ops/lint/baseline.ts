// A baseline: findings that an installation accepts for now. They are reported as known and do not count, so that lint
// can be introduced before everything is fixed.
import { writeFileSync } from 'node:fs';
import { readRegularFile } from '../../config/config-file.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { LintFinding, LintReport } from '../../schema/lint.ts';
import { UNUSABLE } from './rules/file.ts';

const VERSION = 1;
const MAX_BYTES = 1024 * 1024;
const SHAPE = /^[0-9a-f]{32}$/;

interface Entry {
  rule: string;
  key: string;
  fingerprint: string;
}

/**
 * `report` with the findings of the file at `path` marked as known. Throws `bad_request` when that is not a baseline.
 */
export function withBaseline(report: LintReport, path: string): LintReport {
  const entries = readBaseline(path);
  const known = new Set(entries.map(({ fingerprint }) => fingerprint));
  const found = new Set(report.findings.map(({ fingerprint }) => fingerprint));
  // What cannot be read as a configuration is never something to live with.
  const findings = report.findings.map((each) => ({
    ...each,
    known: each.rule !== UNUSABLE.id && known.has(each.fingerprint),
  }));
  const counting = (level: LintFinding['level']) =>
    findings.filter((each) => !each.known && each.level === level).length;
  return {
    ...report,
    errors: counting('error'),
    warnings: counting('warning'),
    known: findings.filter((each) => each.known).length,
    mended: entries.filter(({ fingerprint }) => !found.has(fingerprint)).length,
    findings,
  };
}

/**
 * Writes all findings of `report`. Throws `conflict` rather than overwrite a file that is not a baseline, `bad_request`
 * when it cannot be written.
 */
export function writeBaseline(report: LintReport, path: string): void {
  const entries = report.findings.map(({ rule, key, fingerprint }): Entry => ({ rule, key, fingerprint }));
  const text = `${JSON.stringify({ svc_lint_baseline: VERSION, findings: entries }, null, 2)}\n`;
  try {
    writeFileSync(path, text, { flag: isBaseline(path) ? 'w' : 'wx' });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST')
      throw new ServiceError('conflict', 'The file exists and is not a baseline.', {
        remedy: 'Use another file.',
        cause,
      });
    throw new ServiceError('bad_request', 'The baseline could not be written.', { cause });
  }
}

function isBaseline(path: string): boolean {
  try {
    readBaseline(path);
    return true;
  } catch {
    return false;
  }
}

function readBaseline(path: string): Entry[] {
  try {
    const read = readRegularFile(path, MAX_BYTES);
    if (typeof read === 'string') throw refused(`The baseline ${read}.`);
    const { svc_lint_baseline, findings } = JSON.parse(read.bytes.toString('utf8')) as Record<
      string,
      unknown
    >;
    if (svc_lint_baseline === VERSION && Array.isArray(findings) && findings.every(isEntry)) return findings;
    throw refused('The file is not a baseline of this version.');
  } catch (error) {
    throw error instanceof ServiceError ? error : refused('The baseline could not be read.', error);
  }
}

function isEntry(value: unknown): value is Entry {
  return SHAPE.test(String((value as Partial<Entry> | null)?.fingerprint));
}

function refused(message: string, cause?: unknown): ServiceError {
  const remedy = 'Create a baseline with --write-baseline FILE.';
  return new ServiceError('bad_request', message, { remedy, ...(cause !== undefined && { cause }) });
}
