// svc sandbox mv

import { Args } from '@oclif/core';
import { idArg, insidePath, pathArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';

export default class SandboxMv extends ClientCommand {
  static override summary = 'Move or rename a file or folder in a sandbox.';
  static override description = 'NEW is the complete new path; it is never a folder to move into.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab draft.md final.md'];
  static override args = {
    id: idArg,
    old: pathArg,
    new: Args.string({ description: 'New path.', required: true }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxMv);
    const moved = { old_path: insidePath(args.old), new_path: insidePath(args.new) };
    await this.connect(flags).files.move(args.id, moved.old_path, moved.new_path);
    return moved;
  }
}
