// svc usage owners
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { clientFlags } from '../../src/cli/connection.ts';
import { periodFlags, periodOf } from '../../src/cli/usage-flags.ts';
import { ownersReport } from '../../src/cli/usage-view.ts';
import { OWNER_SORTS } from '../../src/schema/usage-sorts.ts';

export default class UsageOwners extends ClientCommand {
  static override summary = 'List owners by what their sandboxes have used.';
  static override description = 'Needs an admin key. Shows the present month unless --from says otherwise.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --from 2026-11-22 --sort memory --limit 10',
  ];
  static override flags = {
    ...clientFlags,
    ...periodFlags,
    sort: Flags.option({
      description: 'The largest first.',
      options: OWNER_SORTS,
      default: 'cpu' as const,
    })(),
    limit: Flags.integer({ description: 'Maximum number of owners.', min: 1, max: 1000, default: 100 }),
  };

  async run() {
    const { flags } = await this.parse(UsageOwners);
    const query = { ...periodOf(flags), sort: flags.sort, limit: flags.limit };
    return this.show(await this.connect(flags).usage.owners(query), ownersReport);
  }
}
