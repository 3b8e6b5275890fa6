// svc quota usage

import { ownerArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { usageFacts } from '../../src/cli/quota-view.ts';

export default class QuotaUsage extends ClientCommand {
  static override summary = 'Show the usage and the effective limits of an owner.';
  static override examples = ['<%= config.bin %> <%= command.id %> ann'];
  static override args = ownerArg;

  async run() {
    const { args, flags } = await this.parse(QuotaUsage);
    return this.show(await this.connect(flags).quotas.usage(args.owner), usageFacts);
  }
}
