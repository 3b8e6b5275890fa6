// Completion of the command line: commands and flags from the manifest, values of flags, and names that the server knows.
import type { Command } from '@oclif/core';
import type { Client } from '../client/client.ts';
import { type ConnectionFlags, DEFAULT_SERVER } from './connection.ts';

interface Source {
  client: Client;
  signal: AbortSignal;
}

type Lookup = (source: Source) => Promise<string[]>;
type CommandFacts = Pick<Command.Loadable, 'id' | 'hidden' | 'args' | 'flags'>;

const MOST_NAMES = 200;
/** A shell puts a suggestion on the command line as it is: words that it would interpret are left out. */
const PLAIN = /^[\w@%+=:,./-]+$/;

const sandboxes: Lookup = async ({ client, signal }) =>
  (await client.listAll({}, MOST_NAMES, { signal })).map(({ id }) => id);
const templates: Lookup = async ({ client, signal }) =>
  (await client.templates.page({ limit: MOST_NAMES }, { signal })).templates.map(({ name }) => name);
const providers: Lookup = async ({ client, signal }) =>
  (await client.system.providers({ signal })).map(({ name }) => name);
const workers: Lookup = async ({ client, signal }) =>
  (await client.workers.list({ signal })).map(({ id }) => id);
const owners: Lookup = async ({ client, signal }) =>
  (await client.quotas.list({ signal })).map(({ owner_id }) => owner_id);
const keys: Lookup = async ({ client, signal }) =>
  (await client.keys.page({ limit: MOST_NAMES }, { signal })).keys
    .filter(({ state }) => state !== 'revoked')
    .map(({ name }) => name);
const copyEndpoints: Lookup = async (source) => (await sandboxes(source)).map((id) => `${id}:`);

const FLAG_LOOKUPS: Readonly<Record<string, Lookup>> = {
  template: templates,
  provider: providers,
  sandbox: sandboxes,
  worker: workers,
};

/** The first pattern that matches `topic:command argument`. */
const ARGUMENT_LOOKUPS: readonly (readonly [RegExp, Lookup])[] = [
  [/^sandbox:destroy /, sandboxes],
  [/^sandbox:cp /, copyEndpoints],
  [/^sandbox:\w+ id$/, sandboxes],
  [/^exec:\w+ sandbox$/, sandboxes],
  [/^template:(?!create)\w+ name$/, templates],
  [/^provider:get name$/, providers],
  [/^quota:\w+ owner$/, owners],
  [/^worker:\w+ worker$/, workers],
  [/^key:\w+ key$/, keys],
];

/**
 * Words that could stand for the last one of `words`, which follow `svc`; empty where files are meant or nothing is known.
 * `source` is called when the server has to be asked; a server that does not answer in time has no suggestions.
 */
export async function complete(
  words: readonly string[],
  commands: readonly CommandFacts[],
  source: (flags: ConnectionFlags) => Source,
): Promise<string[]> {
  const joined = joinedValues(words);
  const current = joined.at(-1) ?? '';
  const before = joined.slice(0, -1);
  const [, flag, value] = /^(--[\w-]+)=(.*)$/.exec(current) ?? [];
  if (flag !== undefined && value !== undefined)
    return (await complete([...before, flag, value], commands, source)).map((word) => `${flag}=${word}`);
  const next = current.startsWith('-') ? [] : commandWords(before, commands);
  const command = next.length > 0 ? undefined : commandOf(before, commands);
  const ask = async (lookup: Lookup) => lookup(source(connectionFlags(before)));
  const candidates = command
    ? await inCommand(command, before.slice(command.id.split(':').length), current, ask).catch(() => [])
    : next;
  return [...new Set(candidates)].filter((word) => word.startsWith(current) && PLAIN.test(word)).sort();
}

/** bash breaks `--flag=value` into three words; the value is what is completed. */
function joinedValues(words: readonly string[]): string[] {
  const isSign = (at: number) => words[at] === '=' && (words[at - 1] ?? '').startsWith('--');
  const joined = words.filter((_, at) => !isSign(at));
  return isSign(words.length - 1) ? [...joined, ''] : joined;
}

/** The longest command that `words` begin with. */
function commandOf(words: readonly string[], commands: readonly CommandFacts[]): CommandFacts | undefined {
  return commands
    .filter(({ id }) => id.split(':').every((part, at) => words[at] === part))
    .sort((a, b) => b.id.length - a.id.length)[0];
}

/** The next words of commands that begin with `words`. */
function commandWords(words: readonly string[], commands: readonly CommandFacts[]): string[] {
  const parts = commands.filter(({ hidden }) => !hidden).map(({ id }) => id.split(':'));
  return parts.flatMap((each) => {
    const next = each[words.length];
    return next !== undefined && words.every((word, at) => word === each[at]) ? [next] : [];
  });
}

async function inCommand(
  { id, args, flags }: CommandFacts,
  words: readonly string[],
  current: string,
  ask: (lookup: Lookup) => Promise<string[]>,
): Promise<string[]> {
  if (words.includes('--')) return [];
  const flagOf = (word: string) =>
    Object.values(flags).find((flag) => word === `--${flag.name}` || word === `-${flag.char}`);
  const open = flagOf(words.at(-1) ?? '');
  if (open?.type === 'option') {
    const lookup = FLAG_LOOKUPS[open.name];
    return open.options ? [...open.options] : lookup ? ask(lookup) : [];
  }
  if (current.startsWith('-')) return Object.values(flags).flatMap(flagWords);
  const positionals = words.filter(
    (word, at) => !word.startsWith('-') && flagOf(words[at - 1] ?? '')?.type !== 'option',
  );
  const names = Object.keys(args);
  const name = names[positionals.length] ?? '';
  const lookup = ARGUMENT_LOOKUPS.find(([pattern]) => pattern.test(`${id} ${name}`))?.[1];
  return [...(args[name]?.options ?? []), ...(lookup ? await ask(lookup) : [])];
}

function flagWords({ name, hidden, ...flag }: CommandFacts['flags'][string]): string[] {
  if (hidden) return [];
  return flag.type === 'boolean' && flag.allowNo ? [`--${name}`, `--no-${name}`] : [`--${name}`];
}

/** The server that the words so far name; the environment fills in the rest. */
function connectionFlags(words: readonly string[]): ConnectionFlags {
  const flagValue = (name: string) => words[words.indexOf(`--${name}`) + 1 || words.length];
  return {
    server: flagValue('server') ?? process.env.SVC_SERVER ?? DEFAULT_SERVER,
    'api-key-file': flagValue('api-key-file') ?? process.env.SVC_API_KEY_FILE,
    user: flagValue('user') ?? process.env.SVC_USER,
  };
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The script has no trailing line break. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `_svc_completion() {
  local IFS=$'\\n'
  COMPREPLY=($(svc completion suggest -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null </dev/null))
  [[ "\${COMPREPLY[*]}" == *: ]] && compopt -o nospace
  return 0
}
complete -o default -F _svc_completion svc`,
  zsh: `_svc_completion() {
  local -a suggestions
  suggestions=(\${(f)"$(svc completion suggest -- "\${(@)words[2,CURRENT]}" 2>/dev/null </dev/null)"})
  if (( \${#suggestions} )); then
    if [[ "\${suggestions[1]}" == *: ]]; then compadd -S '' -- $suggestions; else compadd -- $suggestions; fi
  else
    _files
  fi
}
compdef _svc_completion svc`,
  fish: `function __svc_completion
  set -l current (commandline -ct)
  set -l before (commandline -opc)
  svc completion suggest -- $before[2..-1] "$current" 2>/dev/null </dev/null
end
complete -c svc -a '(__svc_completion)'`,
};
