// Shell lines for the library. A command runs under `bash -l -c`. A terminal always runs `bash -i -l`, which runs
// PROMPT_COMMAND before its first prompt: the program replaces the shell there, without an echo of the line.
import type { ExecSpec } from '../../agent/io.ts';
import { quoteWord } from '../../domain/exec-request.ts';

/** The working directory, which the template must have. */
export const WORKSPACE = '/workspace';

/** The program replaces the shell, so that the library's process is the program. */
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
  // An interactive shell continues after a failed exec; sh exits with 126 or 127.
  const line = quoteWord(`${restored}; ${commandLine(argv)}`);
  return { ...env, PROMPT_COMMAND: `exec /bin/sh -c ${line}` };
}
