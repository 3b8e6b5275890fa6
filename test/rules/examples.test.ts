// The examples of the manual pages and of --help are read as the command line would read them: names of commands, flags
// and arguments are right, and values fit.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Flags, Parser } from '@oclif/core';
import { expect, it } from 'vitest';
import manifest from '../../oclif.manifest.json' with { type: 'json' };
import type { Manifest, ManifestCommand } from '../../src/docgen/manifest.ts';
import { documentedCommands, filledIn } from '../../src/docgen/manifest.ts';
import { packageRoot } from '../support/servers/server.ts';

/** Bash, in which `svc` says what it was given and every other program is silent. */
const SHELL = `
PATH=/nonexistent
command_not_found_handle() { :; }
svc() { printf '%s\\0' "$@" >&3; printf '\\n\\0' >&3; }
`;

const EXAMPLES = documentedCommands(manifest as unknown as Manifest).flatMap((command) =>
  (command.examples ?? []).map((example) => textOf(example, command)),
);

it('there are more than 100 examples', () => {
  expect(EXAMPLES.length).toBeGreaterThan(100);
});

it.each(EXAMPLES)('%s', async (example) => {
  const calls = callsOf(example);
  expect(calls.length).toBeGreaterThan(0);
  for (const words of calls) await parsed(words);
});

it('notices an unknown flag', async () => {
  const [words = []] = callsOf('svc sandbox create --memory 64 --nope');
  await expect(parsed(words)).rejects.toThrow('nope');
  await expect(parsed(['sandbox', 'nope'])).rejects.toThrow('no command');
});

function textOf(example: string | { command: string }, command: ManifestCommand): string {
  return filledIn(typeof example === 'string' ? example : example.command, command);
}

/** The words behind `svc` of every call of it in `example`. */
function callsOf(example: string): string[][] {
  const script = `${SHELL}\n${example.replaceAll(/ (?:<|>>?) ?\S+/g, '')}`;
  // A loop over lines has one.
  const said = execFileSync('bash', ['-c', `{ ${script}\n} 3>&1 >/dev/null <<<line`], {
    encoding: 'utf8',
    input: '',
  });
  return said
    .split('\n\0')
    .slice(0, -1)
    .map((call) => call.split('\0').slice(0, -1));
}

/** Rejects when the command line would. */
async function parsed(words: readonly string[]): Promise<void> {
  const lengths = [3, 2, 1].filter((length) => existsSync(fileOf(words.slice(0, length))));
  const [length] = lengths;
  if (length === undefined) throw new Error(`no command: svc ${words.join(' ')}`);
  const { default: command } = (await import(fileOf(words.slice(0, length)))) as { default: typeof Command };
  // What stands behind `--` is for the program in the sandbox.
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  await Parser.parse(words.slice(length, end), {
    args: command.args,
    flags: { json: Flags.boolean(), ...command.baseFlags, ...command.flags },
    strict: command.strict,
  });
}

const fileOf = (names: readonly string[]) => `${join(packageRoot, 'commands', ...names)}.ts`;
