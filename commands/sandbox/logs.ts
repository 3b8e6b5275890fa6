// svc sandbox logs
import { Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { followLines } from '../../src/cli/follow-lines.ts';
import { printable, printableJson } from '../../src/domain/printable.ts';

export default class SandboxLogs extends ClientCommand {
  static override summary = 'Print the console log of a sandbox.';
  static override description =
    'Shows the output of detached commands, set-up commands and the agent, each line with its time and source.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --lines 20',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --follow',
  ];
  static override args = { id: idArg };
  static override flags = {
    ...ClientCommand.flags,
    lines: Flags.integer({
      description: 'Number of lines from the end.',
      char: 'n',
      default: 100,
      min: 1,
      max: 10_000,
    }),
    follow: Flags.boolean({
      description: 'Follow new lines; with --json each line is a JSON object.',
      char: 'f',
    }),
  };

  #isPrinted = false;

  /** Followed lines were printed one by one, as JSON too. */
  protected override logJson(json: unknown): void {
    if (!this.#isPrinted) super.logJson(json);
  }

  async run() {
    const { args, flags } = await this.parse(SandboxLogs);
    const client = this.connect(flags);
    if (flags.follow) {
      const show = this.jsonEnabled() ? (line: string) => printableJson({ line }) : printable;
      await followLines((signal) => client.followLogs(args.id, flags.lines, signal), show);
      this.#isPrinted = true;
      return [];
    }
    const lines = await client.logs(args.id, flags.lines);
    for (const line of lines) this.log(printable(line));
    return lines;
  }
}
