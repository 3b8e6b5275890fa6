// svc key revoke
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { keyArg } from '../../src/cli/key-view.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { Key } from '../../src/schema/key.ts';

export default class KeyRevoke extends SvcCommand<Key> {
  static override summary = 'Revoke a named key.';
  static override description =
    'The key ends within 2 s, also on open connections. The streams and terminals that it opened are closed. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %> ci'];
  static override args = keyArg;
  static override flags = clientFlags;

  async run(): Promise<Key> {
    const { args, flags } = await this.parse(KeyRevoke);
    const key = await connect(flags).keys.revoke(args.key);
    this.log(line`Revoked key ${key.name}.`);
    return key;
  }
}
