// The arguments of `svc config lint` where they are plain. Whatever oclif could read otherwise, refuse, or answer with help
// is undefined here, and oclif reads it: nothing is said about arguments in two places.
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

/** Of the environment, what changes how oclif runs a command. */
const OCLIF_VARIABLES = ['DEBUG', 'SVC_CONTENT_TYPE', 'OCLIF_DEBUG', 'SVC_DEBUG'];

/** What `args`, the words behind `config lint`, ask for. */
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

/** Undefined for a flag that is not known or lacks its value, a word that belongs to no flag, and a flag given twice. */
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
