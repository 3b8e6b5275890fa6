// svc quota delete

import { ownerArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

export default class QuotaDelete extends SvcCommand<{ status: 'deleted' }> {
  static override summary = 'Delete the quota of an owner. The defaults apply again.';
  static override examples = ['<%= config.bin %> <%= command.id %> ann'];
  static override args = ownerArg;
  static override flags = clientFlags;

  async run(): Promise<{ status: 'deleted' }> {
    const { args, flags } = await this.parse(QuotaDelete);
    await connect(flags).quotas.delete(args.owner);
    this.log(line`Deleted the quota of ${args.owner}.`);
    return { status: 'deleted' };
  }
}
