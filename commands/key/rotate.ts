// svc key rotate
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { clientFlags } from '../../src/cli/connection.ts';
import { keyArg, keyFacts, keyFlags, secretText } from '../../src/cli/key-view.ts';
import { defined } from '../../src/domain/defined.ts';
import type { KeyWithSecret } from '../../src/schema/key.ts';

export default class KeyRotate extends ClientCommand {
  static override summary = 'Replace a named key with a new one.';
  static override description =
    'Prints the new key on standard output. It cannot be shown again. The previous key stays valid for the overlap. Needs the admin key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> ci --overlap 24h > /etc/ci/svc-key',
    '<%= config.bin %> <%= command.id %> ci --overlap 0s',
  ];
  static override args = keyArg;
  static override flags = {
    ...clientFlags,
    overlap: Flags.string({
      description: 'How long the previous key stays valid, 24h by default; 0s ends it at once.',
      helpValue: '<duration>',
      exclusive: ['replace'],
    }),
    replace: Flags.boolean({
      description: 'Replace the new key of an open rotation, for example because it was lost.',
    }),
    ...keyFlags,
  };

  async run(): Promise<KeyWithSecret> {
    const { args, flags } = await this.parse(KeyRotate);
    const { overlap, replace, ttl, format } = flags;
    const key = await this.connect(flags).keys.rotate(args.key, defined({ overlap, replace, ttl, format }));
    this.logToStderr(keyFacts(key));
    return this.show(key, secretText);
  }
}
