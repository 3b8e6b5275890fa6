// What `sandbox exec` and `sandbox run` take for the command, and the request it makes.
import { Flags } from '@oclif/core';
import type { ExecRequest } from '../schema/exec.ts';
import { insidePath } from './sandbox-path.ts';
import { pairs } from './spawn-flags.ts';

export const execFlags = {
  shell: Flags.boolean({ description: 'Run the words after -- as one shell command line.' }),
  stdin: Flags.boolean({
    description: 'Pass standard input to the command, byte for byte; else its input is empty.',
    char: 'i',
    allowNo: true,
  }),
  timeout: Flags.string({ description: 'Deadline, for example 90s; 0s is the longest the server allows.' }),
  workdir: Flags.string({
    description: 'Folder to start in; below /workspace unless it begins with /.',
    char: 'w',
  }),
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
    ...(flags.workdir === undefined ? {} : { workdir: insidePath(flags.workdir) }),
    ...(env === undefined ? {} : { env: pairs(env, '--env') }),
  };
}
