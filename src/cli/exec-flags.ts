// Flags of `sandbox exec` and `sandbox run`, and the exec request they describe.
import { Flags } from '@oclif/core';
import type { ExecRequest } from '../schema/exec.ts';
import { insidePath } from './args.ts';
import { pairs } from './spawn-flags.ts';

export const execFlags = {
  shell: Flags.boolean({ description: 'Run the words after -- as a shell command line.' }),
  stdin: Flags.boolean({
    description:
      'Pass standard input to the command, whatever it is; --no-stdin gives the command an empty one. Default: pass pipes, sockets and files.',
    char: 'i',
    allowNo: true,
  }),
  timeout: Flags.string({ description: 'Timeout, for example 90s; 0s is the maximum of the server.' }),
  workdir: Flags.string({
    description: 'Working folder; below /workspace unless it starts with /.',
    char: 'w',
  }),
};

export const detachFlag = Flags.boolean({
  description: 'Start the command in the background and print its id; see `svc exec output`.',
  char: 'd',
  // A command in the background reads no input: --no-stdin changes nothing there.
  relationships: [{ type: 'none', flags: [{ name: 'stdin', when: async ({ stdin }) => stdin === true }] }],
});

interface ExecFlags {
  shell: boolean;
  timeout?: string | undefined;
  workdir?: string | undefined;
}

/** Requests output as base64, so that it arrives byte for byte. */
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
