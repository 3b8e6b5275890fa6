// svc sandbox mv
import { Args } from '@oclif/core';
import { idArg, pathArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { insidePath } from '../../src/cli/sandbox-path.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

export default class SandboxMv extends SvcCommand<{ old_path: string; new_path: string }> {
  static override summary = 'Move or rename a file or folder in a sandbox.';
  static override description = 'NEW is the complete new path; it is never a folder to move into.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab draft.md final.md'];
  static override args = {
    id: idArg,
    old: pathArg,
    new: Args.string({ description: 'New path.', required: true }),
  };
  static override flags = clientFlags;

  async run(): Promise<{ old_path: string; new_path: string }> {
    const { args, flags } = await this.parse(SandboxMv);
    const moved = { old_path: insidePath(args.old), new_path: insidePath(args.new) };
    await connect(flags).files.move(args.id, moved.old_path, moved.new_path);
    return moved;
  }
}
