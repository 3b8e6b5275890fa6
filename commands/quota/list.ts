// svc quota list
import { ClientCommand } from '../../src/cli/client-command.ts';
import { quotaTable } from '../../src/cli/quota-view.ts';

export default class QuotaList extends ClientCommand {
  static override summary = 'List owners with their own quota.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(QuotaList);
    return this.show(await this.connect(flags).quotas.list(), quotaTable);
  }
}
