// svc exec output
import { Args, Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { outputOf } from '../../src/cli/exec.ts';
import { ExecCommand } from '../../src/cli/exec-command.ts';

export default class ExecOutput extends ExecCommand {
  static override summary = 'Print the output of a detached command.';
  static override description =
    "The last MiB is kept. Exits with the command's own status when it has ended, with 0 while it runs. Ctrl-C stops following; the command keeps running.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab ex-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab ex-0123456789ab --follow',
  ];
  static override args = {
    sandbox: idArg,
    exec: Args.string({ description: 'Exec id.', required: true }),
  };
  static override flags = {
    ...ExecCommand.flags,
    follow: Flags.boolean({ description: 'Follow the output until the command ends.', char: 'f' }),
  };

  async run() {
    const { args, flags } = await this.parse(ExecOutput);
    const target = { id: args.sandbox, exec_id: args.exec, output: this.outputMode() };
    return this.finish(outputOf(this.connect(flags), target, flags));
  }
}
