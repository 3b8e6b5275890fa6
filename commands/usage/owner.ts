// svc usage owner
import { Flags } from '@oclif/core';
import { ownerArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { clientFlags } from '../../src/cli/connection.ts';
import { periodFlags, periodOf } from '../../src/cli/usage-flags.ts';
import { usageReport, usedSandboxes } from '../../src/cli/usage-view.ts';
import type { SandboxUsageRow } from '../../src/schema/usage.ts';

export default class UsageOwner extends ClientCommand {
  static override summary = 'Show what the sandboxes of an owner have used.';
  static override description =
    'Shows the present month unless --from says otherwise. Times are UTC, rounded to hours.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> ann',
    '<%= config.bin %> <%= command.id %> ann --from 2026-11 --step total --csv',
    '<%= config.bin %> <%= command.id %> ann --from 24h --sandboxes',
  ];
  static override args = ownerArg;
  static override flags = {
    ...clientFlags,
    ...periodFlags,
    step: Flags.option({
      description: 'Time of one row.',
      options: ['hour', 'day', 'month', 'total'] as const,
      default: 'day' as const,
    })(),
    by: Flags.option({
      description: 'Tell providers or templates apart.',
      options: ['provider', 'template'] as const,
    })(),
    sandboxes: Flags.boolean({ description: 'One row for each sandbox instead.' }),
    csv: Flags.boolean({ description: 'Print CSV with a header line.', exclusive: ['json'] }),
  };

  async run() {
    const { args, flags } = await this.parse(UsageOwner);
    const { usage } = this.connect(flags);
    const period = periodOf(flags);
    const query = { ...period, step: flags.step, ...(flags.by && { group_by: flags.by }) };
    if (flags.csv) {
      const csv = flags.sandboxes
        ? usage.sandboxesCsv(args.owner, period)
        : usage.ownerCsv(args.owner, query);
      process.stdout.write(await csv);
      return undefined;
    }
    if (!flags.sandboxes) return this.show(await usage.owner(args.owner, query), usageReport);
    const sandboxes: SandboxUsageRow[] = [];
    for (let cursor: string | undefined | null; cursor !== null; ) {
      const query = { ...period, ...(cursor !== undefined && { cursor }) };
      const page = await usage.sandboxesPage(args.owner, query);
      sandboxes.push(...page.sandboxes);
      cursor = page.next_cursor ?? null;
    }
    return this.show(sandboxes, usedSandboxes);
  }
}
