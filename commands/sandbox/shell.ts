// svc sandbox shell
import { Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { ExecCommand } from '../../src/cli/exec-command.ts';
import { execFlags } from '../../src/cli/exec-flags.ts';
import { shellIn } from '../../src/cli/shell.ts';
import { splitCommand } from '../../src/cli/split-command.ts';

export default class SandboxShell extends ExecCommand {
  static override summary = 'Work in a sandbox on a terminal.';
  static override description =
    "Opens bash, or sh where there is none, or the given command. Every key goes to it, Ctrl-C too; it sees this terminal's size and its changes. Without --timeout it lives as long as the sandbox. Ends with the command's own status, 125 for every failure that is not the command's.";
  static override usage = 'sandbox shell ID [FLAGS] [[--] COMMAND [ARGUMENTS]]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab -- vi /workspace/notes',
  ];
  static override enableJsonFlag = false;
  static override args = { id: idArg };
  static override flags = {
    ...clientFlags,
    timeout: Flags.string({ description: 'Deadline, for example 1h.' }),
    workdir: execFlags.workdir,
  };

  async run() {
    const terms = { command: 'sandbox shell', skip: 1, flags: SandboxShell.flags, isOptional: true };
    const { own, words } = splitCommand(this.argv, terms);
    const { args, flags } = await this.parse(SandboxShell, own);
    return this.finish(shellIn(connect(flags), args.id, { ...flags, words }));
  }
}
