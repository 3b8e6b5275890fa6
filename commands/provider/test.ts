// svc provider test
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { providerTestTable } from '../../src/cli/provider-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { ProviderTests } from '../../src/schema/provider.ts';

/** A check ran and found failures. */
const FOUND = 3;

export default class ProviderTest extends SvcCommand<ProviderTests> {
  static override summary = 'Check all providers now.';
  static override description =
    `Exits with ${FOUND} when one is not healthy. Needs the admin key where one is configured: give it as the API key.`;
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<ProviderTests> {
    const { flags } = await this.parse(ProviderTest);
    const tests = await connect(flags).admin.testProviders();
    this.log(providerTestTable(tests));
    if (Object.values(tests).some(({ healthy }) => !healthy)) process.exitCode = FOUND;
    return tests;
  }
}
