// What `sandbox exec` and `sandbox run` take for the command, and the request it makes.
import { Flags } from '@oclif/core';
import { ServiceError } from '../domain/errors.ts';
import type { ExecRequest } from '../schema/exec.ts';
import { pairs } from './spawn-flags.ts';

export const execFlags = {
  shell: Flags.boolean({ description: 'Run the words after -- as one shell command line.' }),
  stdin: Flags.boolean({
    description: 'Pass standard input on while the command runs, byte for byte.',
    char: 'i',
  }),
  timeout: Flags.string({ description: 'Deadline, for example 90s; 0s is the longest the server allows.' }),
  workdir: Flags.string({ description: 'Absolute folder to start in.', char: 'w' }),
};

/** For commands that run on: only `sandbox exec` can leave one behind. */
export const detachFlag = Flags.boolean({
  description:
    'Leave it running and print its id; see svc exec output. Ends with the sandbox, or by --timeout.',
  char: 'd',
  exclusive: ['stdin'],
});

interface ExecFlags {
  shell: boolean;
  timeout?: string | undefined;
  workdir?: string | undefined;
}

/** What stands before the first `--`, for the parser, and the words after it, which no parser may touch. */
export function splitAtDashes(argv: readonly string[]): { own: string[]; words: string[] } {
  const at = argv.indexOf('--');
  if (at >= 0 && at < argv.length - 1) return { own: argv.slice(0, at), words: argv.slice(at + 1) };
  if (argv.includes('--help')) return { own: [...argv], words: [] };
  throw new ServiceError('bad_request', 'No command was given.', {
    remedy: 'Put it after --, for example: -- python3 -V',
  });
}

/** The exec request for `words`; output comes as base64, so that it is passed on byte for byte. */
export function execRequest(
  words: readonly string[],
  flags: ExecFlags,
  env?: readonly string[],
): ExecRequest {
  const [command = '', ...args] = words;
  return {
    ...(flags.shell ? { command: words.join(' ') } : { mode: 'argv' as const, command, args }),
    encoding: 'base64',
    ...(flags.timeout === undefined ? {} : { timeout: flags.timeout }),
    ...(flags.workdir === undefined ? {} : { workdir: flags.workdir }),
    ...(env === undefined ? {} : { env: pairs(env, '--env') }),
  };
}
