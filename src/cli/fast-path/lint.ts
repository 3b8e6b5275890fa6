// The work of `svc config lint`, shared by the oclif command and the fast path (main.ts).

import { withBaseline } from '../../ops/lint/baseline.ts';
import { githubAnnotations, sarifLog } from '../../ops/lint/formats.ts';
import { filesHere, type LintRequest, lintConfig } from '../../ops/lint/lint.ts';
import type { SarifMaker } from '../../ops/sarif.ts';
import type { LintReport } from '../../schema/lint.ts';
import { lintDocument, lintSummary, lintText } from '../lint-view.ts';

export const LINT_FORMATS = ['text', 'json', 'sarif', 'github'] as const;
export type LintFormat = (typeof LINT_FORMATS)[number];

export interface LintOptions extends Pick<LintRequest, 'production' | 'assumed'> {
  /** Checked alone; absent: the files that a server would read here. */
  file?: string | undefined;
  strict: boolean;
  format: LintFormat;
  /** Path of a file with known findings, which do not count. */
  baseline?: string | undefined;
}

/** A check ran and found failures. */
export const FOUND = 3;
export const UNUSABLE = 2;

/** The report, counted against the baseline. Throws as `lintConfig` and `withBaseline` do. */
export function lintReport({ baseline, file, ...request }: LintOptions): LintReport {
  const files = file === undefined ? filesHere() : [file];
  const found = lintConfig({ ...request, files, cwd: process.cwd() });
  return baseline === undefined ? found : withBaseline(found, baseline);
}

export function lintExit({ usable, errors, warnings }: LintReport, { strict }: LintOptions): number {
  if (!usable) return UNUSABLE;
  return errors > 0 || (strict && warnings > 0) ? FOUND : 0;
}

/** Text for standard output, without the final line break. */
export function lintOutput(report: LintReport, { format }: LintOptions, maker: SarifMaker): string {
  if (format === 'json') return lintDocument(report);
  if (format === 'sarif') return lintDocument(sarifLog(report, maker));
  return format === 'github' ? githubAnnotations(report).join('\n') : lintText(report);
}

/** Text for standard error: annotations are for programs, so people get the counts here. */
export function lintNotice(report: LintReport, { format }: LintOptions): string | undefined {
  return format === 'github' ? lintSummary(report) : undefined;
}
