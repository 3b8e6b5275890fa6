// svc sandbox cat

import { idArg, pathArg, pathWords } from '../../src/cli/args.ts';
import { keepFiles, passFiles } from '../../src/cli/cat.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';

export default class SandboxCat extends ClientCommand {
  static override strict = false;
  static override summary = 'Print files of a sandbox.';
  static override description =
    'Prints the files byte for byte, one after another; with --json in base64, at most 64 MiB.';
  static override usage = 'sandbox cat ID PATH [PATH…]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab notes.txt',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab part1 part2 > joined',
  ];
  static override args = { id: idArg, path: pathArg };

  async run() {
    const { args, flags, argv } = await this.parse(SandboxCat);
    const wanted = { id: args.id, paths: pathWords(argv, 1) };
    if (this.jsonEnabled()) return keepFiles(this.connect(flags), wanted);
    await passFiles(this.connect(flags), wanted, process.stdout);
    return [];
  }
}
