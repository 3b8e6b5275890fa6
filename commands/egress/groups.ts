// svc egress groups
import { ClientCommand } from '../../src/cli/client-command.ts';
import { egressGroupTable } from '../../src/cli/egress-view.ts';

export default class EgressGroups extends ClientCommand {
  static override summary = 'List the groups of egress rules.';
  static override description = 'A policy names a group instead of its rules, for example @packages.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(EgressGroups);
    return this.show(await this.connect(flags).egress.groups(), egressGroupTable);
  }
}
