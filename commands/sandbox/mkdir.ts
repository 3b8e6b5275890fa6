// svc sandbox mkdir
import { Flags } from '@oclif/core';
import { idArg, pathArg, pathWords } from '../../src/cli/args.ts';
import { tryEach } from '../../src/cli/batch.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';

export default class SandboxMkdir extends ClientCommand {
  static override strict = false;
  static override summary = 'Create folders in a sandbox, including parents.';
  static override usage = 'sandbox mkdir ID PATH [PATH…]';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab src/parts --mode 700'];
  static override args = { id: idArg, path: pathArg };
  static override flags = {
    ...ClientCommand.flags,
    mode: Flags.string({ description: 'Permissions, for example 700.', helpValue: '<octal>' }),
    parents: Flags.boolean({
      description: 'Create parent folders, and accept folders that exist.',
      default: true,
      allowNo: true,
    }),
  };

  async run() {
    const { args, flags, argv } = await this.parse(SandboxMkdir);
    const { files } = this.connect(flags);
    const created = pathWords(argv, 1);
    const options = { parents: flags.parents, ...(flags.mode === undefined ? {} : { mode: flags.mode }) };
    await tryEach(created, 'made', (path) => files.mkdir(args.id, path, options));
    return { created };
  }
}
