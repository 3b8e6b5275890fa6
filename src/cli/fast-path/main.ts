// `svc config lint` without oclif, which takes longer to load than a file takes to judge: linters run at every save and
// every commit. bin/svc.js asks here first; what is not plain goes on to oclif and ends in the same functions.

import { sarifMaker } from '../../ops/sarif.ts';
import { asFailure, failureText } from '../failure.ts';
import { exitOnOutputError } from '../output-errors.ts';
import { print } from '../print.ts';
import { lintExit, lintNotice, lintOutput, lintReport } from './lint.ts';
import { lintArgs } from './lint-args.ts';

/** Runs `config lint` of the package at `root` with `args`, and sets the exit code; false when oclif has to. */
export function lintQuickly(args: readonly string[], root: string, version: string): boolean {
  const asked = lintArgs(args, process.env);
  if (!asked) return false;
  exitOnOutputError((failure) => failure.exitCode);
  try {
    const report = lintReport(asked);
    const aside = lintNotice(report, asked);
    const text = lintOutput(report, asked, sarifMaker(root, version));
    if (text !== '') print(text);
    if (aside !== undefined) print(aside, process.stderr);
    process.exitCode = lintExit(report, asked);
  } catch (error) {
    const failure = asFailure(error);
    process.exitCode = failure.exitCode;
    print(failureText(failure), process.stderr);
  }
  return true;
}
