// svc key list
import { ClientCommand } from '../../src/cli/client-command.ts';
import { keyTable } from '../../src/cli/key-view.ts';
import type { Key } from '../../src/schema/key.ts';

export default class KeyList extends ClientCommand {
  static override summary = 'List named keys.';
  static override description =
    'Newest first, with keys that expired or were revoked in the last 30 days. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run(): Promise<Key[]> {
    const { flags } = await this.parse(KeyList);
    return this.show(await this.connect(flags).keys.list(), keyTable);
  }
}
