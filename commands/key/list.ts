// svc key list
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { keyTable } from '../../src/cli/key-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { Key } from '../../src/schema/key.ts';

export default class KeyList extends SvcCommand<Key[]> {
  static override summary = 'List named keys.';
  static override description =
    'Newest first, with keys that expired or were revoked in the last 30 days. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<Key[]> {
    const { flags } = await this.parse(KeyList);
    const keys = await connect(flags).keys.list();
    this.log(keyTable(keys));
    return keys;
  }
}
