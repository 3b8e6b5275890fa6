// svc provider get
import { Args } from '@oclif/core';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { providerFacts } from '../../src/cli/provider-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { ProviderDetail } from '../../src/schema/provider.ts';

export default class ProviderGet extends SvcCommand<ProviderDetail> {
  static override summary = 'Show the health, isolation, images and configuration of a provider.';
  static override examples = ['<%= config.bin %> <%= command.id %> userspace'];
  static override args = { name: Args.string({ description: 'Provider kind.', required: true }) };
  static override flags = clientFlags;

  async run(): Promise<ProviderDetail> {
    const { args, flags } = await this.parse(ProviderGet);
    const provider = await connect(flags).system.provider(args.name);
    this.log(providerFacts(provider));
    return provider;
  }
}
