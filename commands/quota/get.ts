// svc quota get

import { ownerArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { quotaFacts } from '../../src/cli/quota-view.ts';

export default class QuotaGet extends ClientCommand {
  static override summary = 'Show the quota of an owner.';
  static override examples = ['<%= config.bin %> <%= command.id %> ann'];
  static override args = ownerArg;

  async run() {
    const { args, flags } = await this.parse(QuotaGet);
    return this.show(await this.connect(flags).quotas.get(args.owner), quotaFacts);
  }
}
