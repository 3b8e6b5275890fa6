// svc exec signal
import { Args } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';

export default class ExecSignal extends ClientCommand {
  static override summary = 'Send a signal to a command of a sandbox.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab ex-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab ex-0123456789ab SIGKILL',
  ];
  static override args = {
    sandbox: idArg,
    exec: Args.string({ description: 'Exec id.', required: true }),
    signal: Args.string({ description: 'Signal name.', default: 'SIGTERM', ignoreStdin: true }),
  };

  async run() {
    const { args, flags } = await this.parse(ExecSignal);
    await this.connect(flags).execs.signal(args.sandbox, args.exec, args.signal);
    return { status: 'signalled' as const };
  }
}
