// svc top
import { Flags } from '@oclif/core';
import { ClientCommand } from '../src/cli/client-command.ts';
import { clientFlags } from '../src/cli/connection.ts';
import { interruptible } from '../src/cli/interruption.ts';
import { print } from '../src/cli/print.ts';
import { top } from '../src/cli/top/top.ts';
import { parseDuration } from '../src/domain/duration.ts';
import { printableJson } from '../src/domain/printable.ts';
import { SANDBOX_STATES } from '../src/schema/sandbox-states.ts';
import { LIVE_SORTS } from '../src/schema/usage-sorts.ts';

export default class Top extends ClientCommand {
  static override summary = 'Show the sandboxes that use most, now.';
  static override description =
    'On a terminal the picture changes until q is pressed. The arrows move a cursor; Enter shows one sandbox, t opens a shell in it, + lets it live longer, x ends it. s sorts by the next column, / filters, o shows owners, w workers, e events, ? all keys. Otherwise it prints one table at each interval; --json prints one object a line.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --once --sort memory --rows 10',
    '<%= config.bin %> <%= command.id %> --json --count 3 --interval 5s',
  ];
  static override flags = {
    ...clientFlags,
    sort: Flags.option({ description: 'The largest first.', options: LIVE_SORTS, default: 'cpu' as const })(),
    rows: Flags.integer({ description: 'Maximum number of sandboxes.', min: 1, max: 1000, default: 50 }),
    owner: Flags.string({ description: 'Only sandboxes of this owner.' }),
    provider: Flags.string({ description: 'Only sandboxes of this provider.' }),
    state: Flags.option({ description: 'Only sandboxes in this state.', options: SANDBOX_STATES })(),
    owners: Flags.boolean({ description: 'Show owners with their sums.' }),
    workers: Flags.boolean({ description: 'Show workers.', exclusive: ['owners'] }),
    interval: Flags.string({ description: 'Time between requests, 1s to 60s.', default: '2s' }),
    count: Flags.integer({ description: 'Print so many tables, then end.', min: 1 }),
    once: Flags.boolean({ description: 'Print one table, then end.', exclusive: ['count'] }),
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Top);
    const ms = parseDuration(flags.interval, '--interval');
    const client = this.connect(flags);
    const { owner, provider, state, sort, rows: limit, count, once } = flags;
    const filters = {
      ...(owner !== undefined && { owner_id: owner }),
      ...(provider !== undefined && { provider }),
      ...(state !== undefined && { state }),
    };
    await interruptible<void>(
      (signal) =>
        top({
          client,
          query: { sort, limit, ...filters },
          intervalMs: Math.min(60_000, Math.max(1000, ms)),
          count: once ? 1 : count,
          isJson: this.jsonEnabled(),
          view: flags.owners ? 'owners' : flags.workers ? 'workers' : 'sandboxes',
          signal,
        }),
      () => undefined,
    );
  }

  /** Prints one object a line, failures too, and nothing at the end. */
  protected override logJson(json: unknown): void {
    if (json !== undefined) print(printableJson(json));
  }
}
