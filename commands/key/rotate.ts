// svc key rotate
import { Flags } from '@oclif/core';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { keyArg, keyFacts, keyFlags, secretText } from '../../src/cli/key-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { KeyRotate as KeyRequest, KeyWithSecret } from '../../src/schema/key.ts';

export default class KeyRotate extends SvcCommand<KeyWithSecret> {
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
    const request: KeyRequest = {};
    if (flags.overlap !== undefined) request.overlap = flags.overlap;
    if (flags.replace) request.replace = true;
    if (flags.ttl !== undefined) request.ttl = flags.ttl;
    if (flags.format !== undefined) request.format = flags.format;
    const key = await connect(flags).keys.rotate(args.key, request);
    this.logToStderr(keyFacts(key));
    this.log(secretText(key));
    return key;
  }
}
