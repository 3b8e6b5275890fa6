// svc exec list
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { execTable } from '../../src/cli/sandbox-view.ts';

export default class ExecList extends ClientCommand {
  static override summary = 'List the commands of a sandbox, newest first.';
  static override description =
    'Lists the newest 1000 commands, running and ended, with their arguments, without secrets, and with the actor of each. A sandbox that has ended keeps its list as long as the server remembers it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --json',
  ];
  static override args = { sandbox: idArg };

  async run() {
    const { args, flags } = await this.parse(ExecList);
    return this.show(await this.connect(flags).execs.list(args.sandbox), (items) =>
      execTable(items, Date.now()),
    );
  }
}
