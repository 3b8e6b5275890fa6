// svc provider list
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { providerTable } from '../../src/cli/provider-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { ProviderItem } from '../../src/schema/provider.ts';

export default class ProviderList extends SvcCommand<ProviderItem[]> {
  static override summary = 'List providers and their health.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<ProviderItem[]> {
    const { flags } = await this.parse(ProviderList);
    const providers = await connect(flags).system.providers();
    this.log(providerTable(providers));
    return providers;
  }
}
