// svc sandbox exec
import { Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { detachIn, execIn } from '../../src/cli/exec.ts';
import { ExecCommand } from '../../src/cli/exec-command.ts';
import { detachFlag, execFlags, execRequest } from '../../src/cli/exec-flags.ts';
import { splitCommand } from '../../src/cli/split-command.ts';

export default class SandboxExec extends ExecCommand {
  static override summary = 'Run a command in a sandbox.';
  static override description =
    "Streams both outputs; with --json they are part of the one document. Exits with the command's own status; 128+n for signal n, 124 when it times out, 125 for every other failure. The command reads the standard input of svc where that is a pipe, a socket or a file that is not empty, as with ssh. --no-stdin leaves it unread: a `while read` loop needs that (or </dev/null) to keep its lines.";
  static override usage = 'sandbox exec ID [FLAGS] [--] COMMAND [ARGUMENTS]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab -- ls -la /workspace',
    "<%= config.bin %> <%= command.id %> sb-0123456789ab --shell -- 'cd /tmp && echo *'",
    'tar c src | <%= config.bin %> <%= command.id %> sb-0123456789ab -- tar x -C /workspace',
    'while read -r name; do <%= config.bin %> <%= command.id %> sb-0123456789ab --no-stdin -- wc -c "$name"; done <names',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --detach -- python3 -m http.server 8000',
  ];
  static override args = { id: idArg };
  static override flags = {
    ...ExecCommand.flags,
    ...execFlags,
    detach: detachFlag,
    env: Flags.string({
      description: 'Environment variable, NAME=VALUE; repeatable.',
      char: 'e',
      multiple: true,
      multipleNonGreedy: true,
    }),
  };

  async run() {
    const { own, words } = splitCommand(this.argv, {
      command: 'sandbox exec',
      skip: 1,
      flags: SandboxExec.flags,
    });
    const { args, flags } = await this.parse(SandboxExec, own);
    const request = execRequest(words, flags, flags.env);
    const client = this.connect(flags);
    const target = { id: args.id, output: this.outputMode() };
    if (flags.detach) return this.finish(detachIn(client, target, request));
    return this.finish(execIn(client, { ...target, input: this.wantsInput(flags.stdin) }, request));
  }
}
