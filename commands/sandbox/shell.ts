// svc sandbox shell
import { Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { ExecCommand } from '../../src/cli/exec-command.ts';
import { execFlags } from '../../src/cli/exec-flags.ts';
import { shellIn } from '../../src/cli/shell.ts';
import { splitCommand } from '../../src/cli/split-command.ts';

export default class SandboxShell extends ExecCommand {
  static override summary = 'Open a terminal in a sandbox.';
  static override description =
    "Opens bash, sh if there is no bash, or the given command. All keys go to it, including Ctrl-C, and it follows the size of this terminal. Without --timeout it runs as long as the sandbox. Exits with the command's own status, or with 125 for every other failure.";
  static override usage = 'sandbox shell ID [FLAGS] [[--] COMMAND [ARGUMENTS]]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab -- vi /workspace/notes',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --keep',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --attach ex-0123456789abcdef',
  ];
  static override enableJsonFlag = false;
  static override args = { id: idArg };
  static override flags = {
    ...ExecCommand.flags,
    timeout: Flags.string({ description: 'Timeout, for example 1h.' }),
    workdir: execFlags.workdir,
    keep: Flags.boolean({
      description: 'Let it live on when the connection ends; --attach opens it again.',
    }),
    attach: Flags.string({
      description: 'Open a terminal again that was kept, by the id that `svc exec list` shows.',
      exclusive: ['keep', 'timeout', 'workdir'],
    }),
  };

  async run() {
    const terms = { command: 'sandbox shell', skip: 1, flags: SandboxShell.flags, isOptional: true };
    const { own, words } = splitCommand(this.argv, terms);
    const { args, flags } = await this.parse(SandboxShell, own);
    return this.finish(shellIn(this.connect(flags), args.id, { ...flags, words }));
  }
}
