// svc key create
import { Args, Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { clientFlags } from '../../src/cli/connection.ts';
import { keyFacts, keyFlags, secretText } from '../../src/cli/key-view.ts';
import { defined } from '../../src/domain/defined.ts';
import type { KeyWithSecret } from '../../src/schema/key.ts';
import { KEY_SCOPES } from '../../src/schema/key-words.ts';

export default class KeyCreate extends ClientCommand {
  static override summary = 'Create a named key.';
  static override description =
    'Prints the key on standard output. It cannot be shown again: the server stores only its hash. Details go to standard error. Needs the admin key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> ci --scope use --ttl 2160h > /etc/ci/svc-key',
    '<%= config.bin %> <%= command.id %> ann --owner ann',
    '<%= config.bin %> <%= command.id %> sdk --format e2b',
  ];
  static override args = { name: Args.string({ description: 'Name of the key.', required: true }) };
  static override flags = {
    ...clientFlags,
    owner: Flags.string({
      description: 'The only owner that the key acts for; without it, the key acts for all owners.',
      helpValue: '<id>',
    }),
    scope: Flags.option({
      description: 'What the key may do; use includes read, admin includes both. Repeatable; use by default.',
      options: KEY_SCOPES,
      multiple: true,
    })(),
    ...keyFlags,
  };

  async run(): Promise<KeyWithSecret> {
    const { args, flags } = await this.parse(KeyCreate);
    const { owner: owner_id, scope: scopes, ttl, format } = flags;
    const key = await this.connect(flags).keys.create(
      defined({ name: args.name, owner_id, scopes, ttl, format }),
    );
    this.logToStderr(keyFacts(key));
    return this.show(key, secretText);
  }
}
