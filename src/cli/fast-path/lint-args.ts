// Parses simple arguments of `svc config lint`. Returns undefined for everything that oclif could read differently, reject or
// answer with help, so that only oclif reports errors about arguments.
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { LINT_FORMATS, type LintFormat, type LintOptions } from './lint.ts';

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
