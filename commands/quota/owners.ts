// svc quota owners
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { ownerTable } from '../../src/cli/quota-view.ts';
import type { QuotaUsage } from '../../src/schema/quota.ts';

export default class QuotaOwners extends ClientCommand {
  static override summary = 'List all owners with what they run and their limits.';
  static override description =
    'Everybody who has a sandbox, a quota, or use in the ledger, by name. Needs an admin key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --filter team-',
  ];
  static override flags = {
    ...ClientCommand.flags,
    filter: Flags.string({ description: 'Only owners whose name has this text.' }),
  };

  async run() {
    const { flags } = await this.parse(QuotaOwners);
    const owners: QuotaUsage[] = [];
    const query = flags.filter === undefined ? {} : { q: flags.filter };
    for await (const owner of this.connect(flags).quotas.owners(query)) owners.push(owner);
    return this.show(owners, ownerTable);
  }
}
