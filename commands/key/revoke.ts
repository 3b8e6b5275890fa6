// svc key revoke
import { ClientCommand } from '../../src/cli/client-command.ts';
import { keyArg } from '../../src/cli/key-view.ts';
import { line } from '../../src/cli/print.ts';
import type { Key } from '../../src/schema/key.ts';

export default class KeyRevoke extends ClientCommand {
  static override summary = 'Revoke a named key.';
  static override description =
    'The key ends within 2 s, also on open connections. The streams and terminals that it opened are closed. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %> ci'];
  static override args = keyArg;

  async run(): Promise<Key> {
    const { args, flags } = await this.parse(KeyRevoke);
    return this.show(
      await this.connect(flags).keys.revoke(args.key),
      ({ name }) => line`Revoked key ${name}.`,
    );
  }
}
