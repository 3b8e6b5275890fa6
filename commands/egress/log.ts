// svc egress log
import { Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { egressLogText } from '../../src/cli/egress-view.ts';
import { followLines } from '../../src/cli/follow-lines.ts';
import { mapped } from '../../src/cli/mapped.ts';
import { printableJson } from '../../src/domain/printable.ts';

export default class EgressLog extends ClientCommand {
  static override summary = 'Print the egress decisions of a sandbox.';
  static override description =
    'Shows what programs tried to reach, and the rule that decided. The server keeps the last 1,000 decisions while the sandbox runs.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --denied',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --follow',
  ];
  static override args = { id: idArg };
  static override flags = {
    ...ClientCommand.flags,
    limit: Flags.integer({ description: 'Number of decisions.', char: 'n', default: 100, min: 1, max: 1000 }),
    denied: Flags.boolean({ description: 'Only refused connections.' }),
    follow: Flags.boolean({
      description: 'Follow new decisions; with --json each line is a JSON object.',
      char: 'f',
    }),
  };

  #isPrinted = false;

  /** Followed lines were printed one by one, as JSON too. */
  protected override logJson(json: unknown): void {
    if (!this.#isPrinted) super.logJson(json);
  }

  async run() {
    const { args, flags } = await this.parse(EgressLog);
    const { egress } = this.connect(flags);
    const query = { limit: flags.limit, ...(flags.denied && { decision: 'denied' as const }) };
    if (flags.follow) {
      const show = this.jsonEnabled() ? printableJson : egressLogText;
      const open = (signal: AbortSignal) => mapped(egress.followLog(args.id, query, { signal }), show);
      await followLines(open, (line) => line);
      this.#isPrinted = true;
      return [];
    }
    const lines = await egress.log(args.id, query);
    for (const line of lines) this.log(egressLogText(line));
    return lines;
  }
}
