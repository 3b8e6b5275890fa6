// svc quota delete

import { ownerArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { line } from '../../src/cli/print.ts';

export default class QuotaDelete extends ClientCommand {
  static override summary = 'Delete the quota of an owner. The defaults apply again.';
  static override examples = ['<%= config.bin %> <%= command.id %> ann'];
  static override args = ownerArg;

  async run() {
    const { args, flags } = await this.parse(QuotaDelete);
    await this.connect(flags).quotas.delete(args.owner);
    this.log(line`Deleted the quota of ${args.owner}.`);
    return { status: 'deleted' };
  }
}
