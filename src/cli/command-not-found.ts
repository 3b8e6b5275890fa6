// oclif's hook for an unknown command: suggests the nearest command and exits with 2.
import type { Hook } from '@oclif/core';
import { nearest } from '../config/nearest.ts';
import { ServiceError } from '../domain/errors.ts';
import { printableJson } from '../domain/printable.ts';
import { failureJson, failureText } from './failure.ts';
import { print } from './print.ts';

/** `id` holds the words that oclif joined by colons, `argv` the rest. */
const commandNotFound: Hook.CommandNotFound = async ({ id, argv = [], config }) => {
  const failure = unknownCommand([...id.split(':'), ...wordsBeforeFlags(argv)], config.commandIDs);
  process.exitCode = failure.exitCode;
  if (argv.includes('--json')) print(printableJson(failureJson(failure), 2));
  else print(failureText(failure), process.stderr);
};
export default commandNotFound;

/** The words before the first flag. */
function wordsBeforeFlags(argv: readonly string[]): readonly string[] {
  const flag = argv.findIndex((word) => word.startsWith('-'));
  return flag < 0 ? argv : argv.slice(0, flag);
}

/** The usage error for `words`; `ids` are the existing commands, with colons. */
export function unknownCommand(words: readonly string[], ids: readonly string[]): ServiceError {
  const known = ids.map((id) => id.replaceAll(':', ' '));
  const longest = Math.max(...known.map((name) => name.split(' ').length));
  // Words after the command's own are its arguments.
  const tries = Array.from({ length: longest }, (_, at) => words.slice(0, longest - at).join(' '));
  const guess = tries.map((text) => nearest(text, known)).find((name) => name !== undefined);
  return new ServiceError('bad_request', `${words.slice(0, longest).join(' ')} is not a command.`, {
    remedy: guess === undefined ? 'svc help' : `svc ${guess} --help`,
  });
}
