// svc sandbox ls
import { Flags } from '@oclif/core';
import { idArg, optionalPathArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { fileTable } from '../../src/cli/file-view.ts';
import { insidePath } from '../../src/cli/sandbox-path.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { FileInfo } from '../../src/schema/file.ts';

export default class SandboxLs extends SvcCommand<FileInfo[]> {
  static override summary = 'List a folder of a sandbox.';
  static override description = 'Shows links without following them. For names only, use `svc sandbox glob`.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab /etc --depth 2',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab src --json',
  ];
  static override args = { id: idArg, path: optionalPathArg };
  static override flags = {
    ...clientFlags,
    depth: Flags.integer({ description: 'Folder depth to list.', min: 1, max: 64, default: 1 }),
  };

  async run(): Promise<FileInfo[]> {
    const { args, flags } = await this.parse(SandboxLs);
    const path = insidePath(args.path);
    const files = await connect(flags).files.list(args.id, path, flags.depth);
    this.log(fileTable(files, path));
    return files;
  }
}
