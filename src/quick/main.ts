// `svc config lint` without oclif, which takes longer to load than a file takes to judge: linters run at every save and
// every commit. bin/svc.js asks here first; what is not plain goes on to oclif and ends in the same functions.
import { asFailure, failureText } from '../cli/failure.ts';
import { endWithOutput } from '../cli/output-end.ts';
import { say } from '../cli/say.ts';
import { sarifMaker } from '../ops/sarif.ts';
import { lintAside, lintExit, lintOutput, lintReport } from './lint.ts';
import { lintArgs } from './lint-args.ts';

/** Runs `config lint` of the package at `root` with `args`, and sets the exit code; false when oclif has to. */
export function lintQuickly(args: readonly string[], root: string, version: string): boolean {
  const asked = lintArgs(args, process.env);
  if (!asked) return false;
  endWithOutput((failure) => failure.exitCode);
  try {
    const report = lintReport(asked);
    const aside = lintAside(report, asked);
    const text = lintOutput(report, asked, sarifMaker(root, version));
    if (text !== '') say(text);
    if (aside !== undefined) say(aside, process.stderr);
    process.exitCode = lintExit(report, asked);
  } catch (error) {
    const failure = asFailure(error);
    process.exitCode = failure.exitCode;
    say(failureText(failure), process.stderr);
  }
  return true;
}
