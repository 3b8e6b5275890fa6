// svc sandbox run: create, exec, destroy in one.
import { Flags } from '@oclif/core';
import { runOnce } from '../../src/cli/exec.ts';
import { ExecCommand } from '../../src/cli/exec-command.ts';
import { execFlags, execRequest } from '../../src/cli/exec-flags.ts';
import { pullFlag, spawnFlags, spawnRequest, strictFlag, templateFlag } from '../../src/cli/spawn-flags.ts';
import { splitCommand } from '../../src/cli/split-command.ts';

export default class SandboxRun extends ExecCommand {
  /** Otherwise oclif reads the words of the command as a command of svc. */
  static override strict = false;
  static override summary = 'Run one command in a new sandbox.';
  static override description =
    "Spawns a sandbox, runs the command, streams its output and destroys the sandbox. Exits with the command's own status; 128+n for signal n, 124 when it times out, 125 for every other failure. The command reads the standard input of svc where that is a pipe, a socket or a file that is not empty; --no-stdin leaves it unread, as a `while read` loop needs.";
  static override usage = 'sandbox run [FLAGS] [--] COMMAND [ARGUMENTS]';
  static override examples = [
    "<%= config.bin %> <%= command.id %> -- python3 -c 'print(6 * 7)'",
    "<%= config.bin %> <%= command.id %> --shell -- 'uname -a && id'",
    'echo data | <%= config.bin %> <%= command.id %> --network none -- wc -c',
  ];
  static override flags = {
    ...ExecCommand.flags,
    ...spawnFlags,
    template: templateFlag,
    pull: pullFlag,
    strict: strictFlag,
    ...execFlags,
    keep: Flags.boolean({
      description: 'Keep the sandbox until its TTL expires, and print its id on standard error.',
    }),
  };

  async run() {
    const { own, words } = splitCommand(this.argv, {
      command: 'sandbox run',
      skip: 0,
      flags: SandboxRun.flags,
    });
    const { flags } = await this.parse(SandboxRun, own);
    const request = execRequest(words, flags);
    return this.finish(
      runOnce(this.connect(flags), {
        spawn: spawnRequest(flags),
        exec: request,
        keep: flags.keep,
        output: this.outputMode(),
        input: this.wantsInput(flags.stdin),
      }),
    );
  }
}
