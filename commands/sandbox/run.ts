// svc sandbox run: create, exec, destroy in one.
import { Flags } from '@oclif/core';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { runOnce } from '../../src/cli/exec.ts';
import { ExecCommand } from '../../src/cli/exec-command.ts';
import { execFlags, execRequest } from '../../src/cli/exec-flags.ts';
import { spawnFlags, spawnRequest, strictFlag, templateFlag } from '../../src/cli/spawn-flags.ts';
import { splitCommand } from '../../src/cli/split-command.ts';

export default class SandboxRun extends ExecCommand {
  /** Else oclif takes the words of the command for a command of ours. */
  static override strict = false;
  static override summary = 'Run one command in a sandbox of its own.';
  static override description =
    "Spawns a sandbox, runs the command, passes its output on, destroys the sandbox. Ends with the command's own status; 128+n for signal n, 124 on its deadline, 125 for every failure that is not the command's.";
  static override usage = 'sandbox run [FLAGS] [--] COMMAND [ARGUMENTS]';
  static override examples = [
    "<%= config.bin %> <%= command.id %> -- python3 -c 'print(6 * 7)'",
    "<%= config.bin %> <%= command.id %> --shell -- 'uname -a && id'",
    'echo data | <%= config.bin %> <%= command.id %> -i --network none -- wc -c',
  ];
  static override flags = {
    ...clientFlags,
    ...spawnFlags,
    template: templateFlag,
    strict: strictFlag,
    ...execFlags,
    keep: Flags.boolean({
      description: 'Leave the sandbox to its time to live and print its id on standard error.',
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
      runOnce(connect(flags), {
        spawn: spawnRequest(flags),
        exec: request,
        keep: flags.keep,
        output: this.outputMode(),
        input: this.wantsInput(flags.stdin),
      }),
    );
  }
}
