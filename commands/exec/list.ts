// svc exec list
import { idArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { execTable } from '../../src/cli/exec-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { ExecItem } from '../../src/schema/exec.ts';

export default class ExecList extends SvcCommand<ExecItem[]> {
  static override summary = 'List the commands of a sandbox, newest first.';
  static override description =
    'Lists running commands, detached or not, and the newest 256 that have ended.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --json',
  ];
  static override args = { sandbox: idArg };
  static override flags = { ...clientFlags };

  async run(): Promise<ExecItem[]> {
    const { args, flags } = await this.parse(ExecList);
    const items = await connect(flags).execs.list(args.sandbox);
    this.log(execTable(items, Date.now()));
    return items;
  }
}
