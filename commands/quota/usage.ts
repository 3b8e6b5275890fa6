// svc quota usage

import { ownerArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { usageFacts } from '../../src/cli/quota-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { QuotaUsage as Usage } from '../../src/schema/quota.ts';

export default class QuotaUsage extends SvcCommand<Usage> {
  static override summary = 'Show the usage and the effective limits of an owner.';
  static override examples = ['<%= config.bin %> <%= command.id %> ann'];
  static override args = ownerArg;
  static override flags = clientFlags;

  async run(): Promise<Usage> {
    const { args, flags } = await this.parse(QuotaUsage);
    const usage = await connect(flags).quotas.usage(args.owner);
    this.log(usageFacts(usage));
    return usage;
  }
}
