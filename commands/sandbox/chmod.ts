// svc sandbox chmod

import { Args } from '@oclif/core';
import { idArg, pathArg, pathWords } from '../../src/cli/args.ts';
import { tryEach } from '../../src/cli/batch.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';

export default class SandboxChmod extends ClientCommand {
  static override strict = false;
  static override summary = 'Change the permissions of files in a sandbox.';
  static override usage = 'sandbox chmod ID MODE PATH [PATH…]';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab 755 run.sh'];
  static override args = {
    id: idArg,
    mode: Args.string({ description: 'Octal mode, three or four digits.', required: true }),
    path: pathArg,
  };

  async run() {
    const { args, flags, argv } = await this.parse(SandboxChmod);
    const { files } = this.connect(flags);
    const changed = pathWords(argv, 2);
    await tryEach(changed, 'changed', (path) => files.chmod(args.id, path, args.mode));
    return { mode: args.mode, changed };
  }
}
