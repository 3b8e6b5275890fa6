// `svc config lint` from what was asked to what is printed. The command and the quick way to it (main.ts) both come here.

import { withBaseline } from '../../ops/lint/baseline.ts';
import { githubAnnotations } from '../../ops/lint/github.ts';
import { filesHere, type LintRequest, lintConfig } from '../../ops/lint/lint.ts';
import { sarifLog } from '../../ops/lint/sarif.ts';
import type { SarifMaker } from '../../ops/sarif.ts';
import type { LintReport } from '../../schema/lint.ts';
import { lintDocument, lintSummary, lintText } from '../lint-view.ts';

export const LINT_FORMATS = ['text', 'json', 'sarif', 'github'] as const;
export type LintFormat = (typeof LINT_FORMATS)[number];

export interface LintOptions extends Pick<LintRequest, 'production' | 'assumed'> {
  /** Judged alone; absent: the files that a server here would read. */
  file?: string | undefined;
  strict: boolean;
  format: LintFormat;
  /** Path of findings that do not count. */
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

/** What goes to standard output, without the last line's end. */
export function lintOutput(report: LintReport, { format }: LintOptions, maker: SarifMaker): string {
  if (format === 'json') return lintDocument(report);
  if (format === 'sarif') return lintDocument(sarifLog(report, maker));
  return format === 'github' ? githubAnnotations(report).join('\n') : lintText(report);
}

/** What goes to standard error: annotations are for a program, and people get the counts. */
export function lintNotice(report: LintReport, { format }: LintOptions): string | undefined {
  return format === 'github' ? lintSummary(report) : undefined;
}
