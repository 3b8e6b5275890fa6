// Where our own words end and the command begins. After `--` all is the command's. Without it the command begins behind the
// last word of ours, and as none of its words may look like a flag, no flag of ours is ever taken for one of its own.
import { ServiceError } from '../domain/errors.ts';

export interface Split {
  /** For the parser. */
  own: string[];
  /** The command and its arguments, which no parser may touch. */
  words: string[];
}

interface Terms {
  /** How the command line begins, for what to type instead. */
  command: string;
  /** Words of ours before the command. */
  skip: number;
  /** It does without a command. */
  isOptional?: boolean;
  /** By name: whether it takes a value. */
  flags: Readonly<Record<string, { type: string; char?: string }>>;
}

/** Throws `bad_request` when there is no command, or when it is not clear whose a flag is. */
export function splitCommand(argv: readonly string[], terms: Terms): Split {
  const dashes = argv.indexOf('--');
  if (dashes >= 0 && dashes < argv.length - 1)
    return { own: argv.slice(0, dashes), words: argv.slice(dashes + 1) };
  if (argv.includes('--help')) return { own: [...argv], words: [] };
  const at = dashes >= 0 ? dashes : commandAt(argv, terms);
  const [own, words] = [argv.slice(0, at), dashes >= 0 ? [] : argv.slice(at)];
  if (words.length === 0 && !terms.isOptional) throw noCommand(own, terms);
  const flag = words.find((word) => word.startsWith('-') && word !== '-');
  if (flag === undefined) return { own, words };
  throw new ServiceError('bad_request', `It is not clear whether ${flag} is for svc or for the command.`, {
    remedy: `Put -- before the command: ${typed([...own, '--', ...words], terms)}`,
  });
}

/** The place of the first word behind ours that is neither a flag nor its value. */
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
  // Several in one: the last may take a value, one before it has the rest of the word.
  const of = (char: string) => Object.values(flags).find((flag) => flag.char === char)?.type === 'option';
  const first = [...word.slice(1)].findIndex(of);
  return first >= 0 && first === word.length - 2;
}

function noCommand(own: readonly string[], terms: Terms): ServiceError {
  return new ServiceError('bad_request', 'No command was given.', {
    remedy: `Put it after --, for example: ${typed([...own, '--', 'python3', '-V'], terms)}`,
  });
}

function typed(words: readonly string[], { command }: Terms): string {
  return `svc ${command} ${words.map(quoted).join(' ')}`;
}

/** As a shell reads it back. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
