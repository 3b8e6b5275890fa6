// svc quota summary
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { summaryFacts } from '../../src/cli/quota-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { QuotaSummary as Summary } from '../../src/schema/quota.ts';

export default class QuotaSummary extends SvcCommand<Summary> {
  static override summary = 'Count the quotas without naming owners.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<Summary> {
    const { flags } = await this.parse(QuotaSummary);
    const summary = await connect(flags).quotas.summary();
    this.log(summaryFacts(summary));
    return summary;
  }
}
