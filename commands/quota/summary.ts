// svc quota summary
import { ClientCommand } from '../../src/cli/client-command.ts';
import { summaryFacts } from '../../src/cli/quota-view.ts';

export default class QuotaSummary extends ClientCommand {
  static override summary = 'Count the quotas without naming owners.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(QuotaSummary);
    return this.show(await this.connect(flags).quotas.summary(), summaryFacts);
  }
}
