// svc sandbox list
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { sandboxTable } from '../../src/cli/sandbox-view.ts';
import { pairs } from '../../src/cli/spawn-flags.ts';
import { SANDBOX_STATES } from '../../src/schema/sandbox-states.ts';

export default class SandboxList extends ClientCommand {
  static override summary = 'List sandboxes, newest first.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --state running --metadata purpose=ci',
    '<%= config.bin %> <%= command.id %> --all --json',
  ];
  static override flags = {
    ...ClientCommand.flags,
    state: Flags.option({ description: 'Only sandboxes in this state.', options: SANDBOX_STATES })(),
    owner: Flags.string({ description: 'Only sandboxes of this owner.' }),
    provider: Flags.string({ description: 'Only sandboxes of this provider.' }),
    template: Flags.string({ description: 'Only sandboxes of this template.' }),
    metadata: Flags.string({
      description: 'Only sandboxes with this label, KEY=VALUE; repeatable.',
      multiple: true,
    }),
    all: Flags.boolean({
      description: 'Include ended sandboxes that the server still remembers.',
      char: 'a',
    }),
    limit: Flags.integer({ description: 'Maximum number of sandboxes.', min: 1, default: 1000 }),
  };

  async run() {
    const { flags } = await this.parse(SandboxList);
    const labels = Object.entries(pairs(flags.metadata ?? [], '--metadata'));
    return this.show(
      await this.connect(flags).listAll(
        {
          ...(flags.state && { state: flags.state }),
          ...(flags.owner && { owner_id: flags.owner }),
          ...(flags.provider && { provider: flags.provider }),
          ...(flags.template && { template: flags.template }),
          ...(flags.all && { include_ended: true }),
          ...Object.fromEntries(labels.map(([key, value]) => [`metadata.${key}`, value])),
        },
        flags.limit,
      ),
      (sandboxes) => sandboxTable(sandboxes, Date.now()),
    );
  }
}
