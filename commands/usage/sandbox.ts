// svc usage sandbox
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { sandboxUsageFacts } from '../../src/cli/usage-view.ts';

export default class UsageSandbox extends ClientCommand {
  static override summary = 'Show what a sandbox uses, and has used.';
  static override description = 'Also works for an ended sandbox, for usage.retention_hours.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab'];
  static override args = { id: idArg };

  async run() {
    const { args, flags } = await this.parse(UsageSandbox);
    return this.show(await this.connect(flags).usage.sandbox(args.id), sandboxUsageFacts);
  }
}
