// svc sandbox write
import { Args, Flags } from '@oclif/core';
import { idArg, insidePath, pathArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { inputStream } from '../../src/cli/input-stream.ts';
import { line } from '../../src/cli/print.ts';

export default class SandboxWrite extends ClientCommand {
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
    ...ClientCommand.flags,
    mode: Flags.string({ description: 'Permissions, for example 755.', helpValue: '<octal>' }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxWrite);
    const content = await inputStream(args.file);
    const mode = flags.mode === undefined ? {} : { mode: flags.mode };
    const written = await this.connect(flags).files.write(args.id, insidePath(args.path), content, mode);
    content.destroy();
    this.log(line`${written.size} bytes written`);
    return written;
  }
}
