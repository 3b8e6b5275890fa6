// svc provider list
import { ClientCommand } from '../../src/cli/client-command.ts';
import { providerTable } from '../../src/cli/provider-view.ts';

export default class ProviderList extends ClientCommand {
  static override summary = 'List providers and their health.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(ProviderList);
    return this.show(await this.connect(flags).system.providers(), providerTable);
  }
}
