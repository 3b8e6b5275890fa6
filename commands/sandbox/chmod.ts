// svc sandbox chmod
import { Args } from '@oclif/core';
import { idArg, pathArg, pathWords } from '../../src/cli/args.ts';
import { tryEach } from '../../src/cli/batch.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

export default class SandboxChmod extends SvcCommand<{ mode: string; changed: string[] }> {
  static override strict = false;
  static override summary = 'Change the permissions of files in a sandbox.';
  static override usage = 'sandbox chmod ID MODE PATH [PATH…]';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab 755 run.sh'];
  static override args = {
    id: idArg,
    mode: Args.string({ description: 'Octal mode, three or four digits.', required: true }),
    path: pathArg,
  };
  static override flags = clientFlags;

  async run(): Promise<{ mode: string; changed: string[] }> {
    const { args, flags, argv } = await this.parse(SandboxChmod);
    const { files } = connect(flags);
    const changed = pathWords(argv, 2);
    await tryEach(changed, 'changed', (path) => files.chmod(args.id, path, args.mode));
    return { mode: args.mode, changed };
  }
}
