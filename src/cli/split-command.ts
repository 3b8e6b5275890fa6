// Splits a command line into the words for svc and the command for the sandbox. Everything after `--` is the command. Without
// `--` the command starts after the last argument of svc; its words may not look like flags, so no flag of svc is mistaken.
import { ServiceError } from '../domain/errors.ts';
import { shellWord } from '../domain/exec-request.ts';

export interface Split {
  /** For the parser. */
  own: string[];
  /** The command and its arguments, unparsed. */
  words: string[];
}

interface Terms {
  /** The svc command, for suggestions. */
  command: string;
  /** Number of arguments before the command. */
  skip: number;
  /** The command may be missing. */
  isOptional?: boolean;
  /** Keyed by name. */
  flags: Readonly<Record<string, { type: string; char?: string }>>;
}

/** Throws `bad_request` without a command, and for a flag that could belong to either side. */
export function splitCommand(argv: readonly string[], terms: Terms): Split {
  const dashes = argv.indexOf('--');
  if (dashes >= 0 && dashes < argv.length - 1)
    return { own: argv.slice(0, dashes), words: argv.slice(dashes + 1) };
  if (argv.includes('--help')) return { own: [...argv], words: [] };
  const at = dashes >= 0 ? dashes : commandAt(argv, terms);
  const [own, words] = [argv.slice(0, at), dashes >= 0 ? [] : argv.slice(at)];
  if (words.length === 0 && !terms.isOptional)
    throw new ServiceError('bad_request', 'No command was given.', {
      remedy: `Put it after --, for example: ${typed([...own, '--', 'python3', '-V'], terms)}`,
    });
  const flag = words.find((word) => word.startsWith('-') && word !== '-');
  if (flag === undefined) return { own, words };
  throw new ServiceError('bad_request', `It is not clear whether ${flag} is for svc or for the command.`, {
    remedy: `Put -- before the command: ${typed([...own, '--', ...words], terms)}`,
  });
}

/** The index of the first word of the command. */
function commandAt(argv: readonly string[], { skip, flags }: Terms): number {
  let left = skip;
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word.startsWith('-') && word !== '-') at += takesNext(word, flags) ? 1 : 0;
    else if (left === 0) return at;
    else left -= 1;
  }
  return argv.length;
}

function takesNext(word: string, flags: Terms['flags']): boolean {
  if (word.startsWith('--')) return flags[word.slice(2)]?.type === 'option';
  // Combined flags: only the last can take the next word as its value.
  const of = (char: string) => Object.values(flags).find((flag) => flag.char === char)?.type === 'option';
  const first = [...word.slice(1)].findIndex(of);
  return first >= 0 && first === word.length - 2;
}

function typed(words: readonly string[], { command }: Terms): string {
  return `svc ${command} ${words.map(shellWord).join(' ')}`;
}
