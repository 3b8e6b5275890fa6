// svc sandbox glob
import { Args } from '@oclif/core';
import { idArg, insidePath } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { printable } from '../../src/domain/printable.ts';

export default class SandboxGlob extends ClientCommand {
  static override summary = 'Find paths in a sandbox by pattern.';
  static override description =
    'Prints at most 10000 paths, one a line, with control characters escaped. Quote the pattern, otherwise your shell expands it.';
  static override examples = [
    "<%= config.bin %> <%= command.id %> sb-0123456789ab '**/*.py'",
    "<%= config.bin %> <%= command.id %> sb-0123456789ab '/etc/{hosts,passwd}' --json",
  ];
  static override args = {
    id: idArg,
    pattern: Args.string({
      description: 'Pattern with *, ?, [], ** and {a,b}; below /workspace unless it starts with /.',
      required: true,
    }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxGlob);
    const found = await this.connect(flags).files.glob(args.id, insidePath(args.pattern));
    for (const path of found) this.log(printable(path));
    return found;
  }
}
