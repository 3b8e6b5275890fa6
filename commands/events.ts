// svc events
import { Flags } from '@oclif/core';
import { clientFlags } from '../src/cli/connection.ts';
import { eventHead, eventLine, followEvents } from '../src/cli/events.ts';
import { print } from '../src/cli/print.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';
import { printableJson } from '../src/domain/printable.ts';

export default class Events extends SvcCommand<void> {
  static override summary = 'Follow events: a line each; with --json an object each.';
  static override description =
    'Begins with what happens from now on, or after --since; a lost connection is resumed without a gap. Ctrl-C ends it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --type sandbox.*,exec.failed --json',
    '<%= config.bin %> <%= command.id %> --no-follow --sandbox sb-0123456789ab',
  ];
  static override flags = {
    ...clientFlags,
    type: Flags.string({ description: 'Only these kinds, separated by commas; sandbox.* is a group.' }),
    sandbox: Flags.string({ description: 'Only events of this sandbox.', helpValue: '<id>' }),
    owner: Flags.string({ description: 'Only events of this owner.', helpValue: '<id>' }),
    since: Flags.integer({
      description: 'Begin after the event with this id; 0 is the oldest kept.',
      min: 0,
    }),
    follow: Flags.boolean({
      description: 'Wait for new ones; --no-follow ends after those that are stored.',
      default: true,
      allowNo: true,
    }),
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Events);
    this.log(eventHead());
    for await (const event of followEvents(flags)) {
      if (this.jsonEnabled()) this.logJson(event);
      else this.log(eventLine(event));
    }
  }

  /** An object a line, failures too; nothing at the end. */
  protected override logJson(json: unknown): void {
    if (json !== undefined) print(printableJson(json));
  }
}
