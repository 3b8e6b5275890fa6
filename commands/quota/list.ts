// svc quota list
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { quotaTable } from '../../src/cli/quota-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { Quota } from '../../src/schema/quota.ts';

export default class QuotaList extends SvcCommand<Quota[]> {
  static override summary = 'List owners with their own quota.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<Quota[]> {
    const { flags } = await this.parse(QuotaList);
    const quotas = await connect(flags).quotas.list();
    this.log(quotaTable(quotas));
    return quotas;
  }
}
