// svc sandbox rm
import { Flags } from '@oclif/core';
import { idArg, pathArg, pathWords } from '../../src/cli/args.ts';
import { tryEach } from '../../src/cli/batch.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';

export default class SandboxRm extends ClientCommand {
  static override strict = false;
  static override summary = 'Delete files and folders in a sandbox.';
  static override description = 'Deletes links, not their targets.';
  static override usage = 'sandbox rm ID PATH [PATH…]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab old.log',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab -r build dist',
  ];
  static override args = { id: idArg, path: pathArg };
  static override flags = {
    ...ClientCommand.flags,
    recursive: Flags.boolean({ description: 'Delete folders and their contents.', char: 'r' }),
  };

  async run() {
    const { args, flags, argv } = await this.parse(SandboxRm);
    const { files } = this.connect(flags);
    const deleted = pathWords(argv, 1);
    await tryEach(deleted, 'deleted', (path) => files.remove(args.id, path, { recursive: flags.recursive }));
    return { deleted };
  }
}
