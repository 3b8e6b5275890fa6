// svc quota get

import { ownerArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { quotaFacts } from '../../src/cli/quota-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { Quota } from '../../src/schema/quota.ts';

export default class QuotaGet extends SvcCommand<Quota> {
  static override summary = 'Show the quota of an owner.';
  static override examples = ['<%= config.bin %> <%= command.id %> ann'];
  static override args = ownerArg;
  static override flags = clientFlags;

  async run(): Promise<Quota> {
    const { args, flags } = await this.parse(QuotaGet);
    const quota = await connect(flags).quotas.get(args.owner);
    this.log(quotaFacts(quota));
    return quota;
  }
}
