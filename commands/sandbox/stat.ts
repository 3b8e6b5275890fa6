// svc sandbox stat

import { idArg, insidePath, pathArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { fileFacts } from '../../src/cli/file-view.ts';

export default class SandboxStat extends ClientCommand {
  static override summary = 'Show the properties of a file, folder or link in a sandbox.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab run.sh'];
  static override args = { id: idArg, path: pathArg };

  async run() {
    const { args, flags } = await this.parse(SandboxStat);
    return this.show(await this.connect(flags).files.stat(args.id, insidePath(args.path)), fileFacts);
  }
}
