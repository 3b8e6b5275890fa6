// svc provider get
import { Args } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { providerFacts } from '../../src/cli/provider-view.ts';

export default class ProviderGet extends ClientCommand {
  static override summary = 'Show the health, isolation, images and configuration of a provider.';
  static override examples = ['<%= config.bin %> <%= command.id %> userspace'];
  static override args = { name: Args.string({ description: 'Provider kind.', required: true }) };

  async run() {
    const { args, flags } = await this.parse(ProviderGet);
    return this.show(await this.connect(flags).system.provider(args.name), providerFacts);
  }
}
