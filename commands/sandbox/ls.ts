// svc sandbox ls
import { Flags } from '@oclif/core';
import { idArg, insidePath, optionalPathArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { fileTable } from '../../src/cli/file-view.ts';

export default class SandboxLs extends ClientCommand {
  static override summary = 'List a folder of a sandbox.';
  static override description = 'Shows links without following them. For names only, use `svc sandbox glob`.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab /etc --depth 2',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab src --json',
  ];
  static override args = { id: idArg, path: optionalPathArg };
  static override flags = {
    ...ClientCommand.flags,
    depth: Flags.integer({ description: 'Folder depth to list.', min: 1, max: 64, default: 1 }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxLs);
    const path = insidePath(args.path);
    const files = await this.connect(flags).files.list(args.id, path, flags.depth);
    this.log(fileTable(files, path));
    return files;
  }
}
