// svc sandbox write
import { Args, Flags } from '@oclif/core';
import { idArg, pathArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { inputStream } from '../../src/cli/input-stream.ts';
import { line } from '../../src/cli/print.ts';
import { insidePath } from '../../src/cli/sandbox-path.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { FileWritten } from '../../src/schema/file.ts';

export default class SandboxWrite extends SvcCommand<FileWritten> {
  static override summary = 'Write a file in a sandbox from standard input or a local file.';
  static override description = 'Creates parent folders. Replaces an existing file atomically.';
  static override examples = [
    'echo hello | <%= config.bin %> <%= command.id %> sb-0123456789ab greeting.txt',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab bin/run ./run.sh --mode 755',
  ];
  static override args = {
    id: idArg,
    path: pathArg,
    // Otherwise the parser reads standard input as this argument.
    file: Args.string({
      description: 'Local file; - is standard input.',
      default: '-',
      ignoreStdin: true,
    }),
  };
  static override flags = {
    ...clientFlags,
    mode: Flags.string({ description: 'Permissions, for example 755.', helpValue: '<octal>' }),
  };

  async run(): Promise<FileWritten> {
    const { args, flags } = await this.parse(SandboxWrite);
    const content = await inputStream(args.file);
    const mode = flags.mode === undefined ? {} : { mode: flags.mode };
    const written = await connect(flags).files.write(args.id, insidePath(args.path), content, mode);
    content.destroy();
    this.log(line`${written.size} bytes written`);
    return written;
  }
}
