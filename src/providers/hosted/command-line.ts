// What the library's shells are told. A command is `bash -l -c`; a terminal is always `bash -i -l`, which runs what stands in
// PROMPT_COMMAND before it would ask for anything: so a program takes its place without an echo of how it came there.
import type { ExecSpec } from '../../agent/io.ts';
import { quoteWord } from '../../domain/exec-request.ts';

/** Which the template has to have. */
export const WORKSPACE = '/workspace';

/** The program takes the place of the shell, so that the library's process is the program. */
export function commandLine(argv: readonly string[]): string {
  return `exec ${argv.map(quoteWord).join(' ')}`;
}

/** The environment of a terminal in which `spec` runs; the program sees PROMPT_COMMAND as its caller set it, or not at all. */
export function terminalEnv({ argv, env }: Pick<ExecSpec, 'argv' | 'env'>): Record<string, string> {
  const { PROMPT_COMMAND: wanted } = env;
  const restored =
    wanted === undefined
      ? 'unset PROMPT_COMMAND'
      : `PROMPT_COMMAND=${quoteWord(wanted)}; export PROMPT_COMMAND`;
  // An interactive shell would go on after an exec that fails; sh ends with 126 or 127.
  const line = quoteWord(`${restored}; ${commandLine(argv)}`);
  return { ...env, PROMPT_COMMAND: `exec /bin/sh -c ${line}` };
}
