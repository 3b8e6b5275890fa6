// One layer of the configuration: values with their positions, and its problems. Every layer is read to its end, so
// that all problems are reported at once. A problem never quotes a value, which may be a secret.
import { ServiceError } from '../domain/errors.ts';
import { printable } from '../domain/printable.ts';

export interface Source {
  layer: 'default' | 'file' | 'environment' | 'flag';
  /** The file as it was named, or the variable. */
  name?: string;
  /** From 1. */
  line?: number;
  column?: number;
}

export interface Setting {
  /** A key's path, or that of its `_file` twin. */
  path: string;
  value: unknown;
  source: Source;
  /** The folder of the file that sets it: relative paths start there. */
  folder?: string;
  /** For a map of secrets that several files fill: the source of each entry. */
  entries?: ReadonlyMap<string, Setting>;
  /** For secrets from files: the absolute path of each by its key, such as `egress.credentials.NAME`. */
  files?: ReadonlyMap<string, string>;
}

export interface Problem {
  /** Complete: says where and what. */
  message: string;
  key?: string;
  file?: string;
  line?: number;
  column?: number;
}

export interface Layer {
  settings: Setting[];
  problems: Problem[];
  /** Its text is not YAML: nothing after the first such position was read. */
  isCut?: boolean;
}

/** `svc.yaml:3:7`, `SVC_SERVER_PORT`, `flag`, `default`. */
export function sourceText({ layer, name, line, column }: Source): string {
  return [name ?? layer, line, column].filter((part) => part !== undefined).join(':');
}

/** `words` says what is wrong, beginning with the key or what stands there. */
export function problemAt(source: Source, words: string, key?: string): Problem {
  const { layer, name, line, column } = source;
  const end = words.endsWith('?') ? '' : '.';
  const place =
    layer === 'file' ? `${sourceText(source)}: ${words}${end}` : `${words} (${sourceText(source)}).`;
  return {
    message: printable(place),
    ...(key !== undefined && { key }),
    ...(layer === 'file' && name !== undefined && { file: name }),
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
  };
}

/** How a name of a stranger is quoted in a problem. */
export function quoted(name: string): string {
  return `"${name.length > 64 ? `${name.slice(0, 64)}…` : name}"`;
}

const MOST_SHOWN = 50;

/** One error for all problems, in `details.problems`. */
export function configFailure(problems: readonly Problem[]): ServiceError {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
  return new ServiceError('bad_request', `The configuration has ${count}.`, {
    details: { problems: problems.slice(0, MOST_SHOWN) },
    remedy: problems.some(({ key }) => key !== undefined)
      ? 'Run `svc config explain KEY` to see the valid values of a key.'
      : 'Correct it, or choose another file with --config.',
  });
}
