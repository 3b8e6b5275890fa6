// svc sandbox stat

import { idArg, pathArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { fileFacts } from '../../src/cli/file-view.ts';
import { insidePath } from '../../src/cli/sandbox-path.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { FileInfo } from '../../src/schema/file.ts';

export default class SandboxStat extends SvcCommand<FileInfo> {
  static override summary = 'Show the properties of a file, folder or link in a sandbox.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab run.sh'];
  static override args = { id: idArg, path: pathArg };
  static override flags = clientFlags;

  async run(): Promise<FileInfo> {
    const { args, flags } = await this.parse(SandboxStat);
    const file = await connect(flags).files.stat(args.id, insidePath(args.path));
    this.log(fileFacts(file));
    return file;
  }
}
