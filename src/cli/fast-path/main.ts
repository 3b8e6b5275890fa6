// Runs `svc config lint` without oclif, whose start takes longer than the check: linters run at every save and commit.
// bin/svc.js tries this first; calls that are not simple go to oclif and end in the same functions.

import { sarifMaker } from '../../ops/sarif.ts';
import { asFailure, failureText } from '../failure.ts';
import { exitOnOutputError } from '../output-errors.ts';
import { print } from '../print.ts';
import { lintExit, lintNotice, lintOutput, lintReport } from './lint.ts';
import { lintArgs } from './lint-args.ts';

/** Runs `config lint` with `args` and sets the exit code. Returns false when oclif has to run it. */
export function lintQuickly(args: readonly string[], root: string, version: string): boolean {
  const options = lintArgs(args, process.env);
  if (!options) return false;
  exitOnOutputError((failure) => failure.exitCode);
  try {
    const report = lintReport(options);
    const notice = lintNotice(report, options);
    const text = lintOutput(report, options, sarifMaker(root, version));
    if (text !== '') print(text);
    if (notice !== undefined) print(notice, process.stderr);
    process.exitCode = lintExit(report, options);
  } catch (error) {
    const failure = asFailure(error);
    process.exitCode = failure.exitCode;
    print(failureText(failure), process.stderr);
  }
  return true;
}
