// Runs `svc config lint` without oclif, whose start takes longer than the check: linters run at every save and commit.
// bin/svc.js tries this first; calls that are not simple go to oclif and end in the same functions.

import { type ParseArgsConfig, parseArgs } from 'node:util';
import { sarifMaker } from '../../ops/sarif.ts';
import { asFailure, failureText } from '../failure.ts';
import { exitOnOutputError } from '../output-errors.ts';
import { print } from '../print.ts';
import {
  LINT_FORMATS,
  type LintFormat,
  type LintOptions,
  lintExit,
  lintNotice,
  lintOutput,
  lintReport,
} from './lint.ts';

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

// Parses simple arguments of `svc config lint`. Returns undefined for everything that oclif could read differently, reject or
// answer with help, so that only oclif reports errors about arguments.
const OPTIONS = {
  file: { type: 'string' },
  production: { type: 'boolean' },
  strict: { type: 'boolean' },
  format: { type: 'string' },
  'assume-env': { type: 'string', multiple: true },
  baseline: { type: 'string' },
} as const satisfies ParseArgsConfig['options'];

/** Environment variables that change how oclif runs a command. */
const OCLIF_VARIABLES = ['DEBUG', 'SVC_CONTENT_TYPE', 'OCLIF_DEBUG', 'SVC_DEBUG'];

/** `args` are the words after `config lint`. */
export function lintArgs(args: readonly string[], env: NodeJS.ProcessEnv): LintOptions | undefined {
  if (OCLIF_VARIABLES.some((name) => env[name] !== undefined)) return undefined;
  const values = plainValues(args);
  const { file, format = 'text', baseline } = values ?? {};
  if (!values || file === '' || baseline === '' || !isFormat(format)) return undefined;
  return {
    file,
    format,
    baseline,
    production: values.production ?? false,
    strict: values.strict ?? false,
    assumed: values['assume-env'] ?? [],
  };
}

/** Undefined for an unknown flag, a missing value, a positional argument, and a repeated flag. */
function plainValues(args: readonly string[]) {
  try {
    const { values, tokens } = parseArgs({ args: [...args], options: OPTIONS, tokens: true });
    const names = tokens.map((token) => (token.kind === 'option' ? token.name : token.kind));
    const single = names.filter((name) => name !== 'assume-env');
    if (names.includes('option-terminator') || new Set(single).size < single.length) return undefined;
    return values['assume-env']?.includes('') ? undefined : values;
  } catch {
    return undefined;
  }
}

const isFormat = (text: string): text is LintFormat => (LINT_FORMATS as readonly string[]).includes(text);
