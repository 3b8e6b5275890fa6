// svc events
import { Flags } from '@oclif/core';
import { clientFlags } from '../src/cli/connection.ts';
import { eventHead, eventLine, followEvents } from '../src/cli/events.ts';
import { print } from '../src/cli/print.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';
import { printableJson } from '../src/domain/printable.ts';

export default class Events extends SvcCommand {
  static override summary = 'Follow events, one line each; with --json one object each.';
  static override description =
    'Starts with new events, or after --since. Resumes a lost connection without a gap. Ctrl-C ends it.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --type sandbox.*,exec.failed --json',
    '<%= config.bin %> <%= command.id %> --no-follow --sandbox sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> --actor system:expired',
  ];
  static override flags = {
    ...clientFlags,
    type: Flags.string({ description: 'Only these types, separated by commas; sandbox.* selects a group.' }),
    sandbox: Flags.string({ description: 'Only events of this sandbox.', helpValue: '<id>' }),
    owner: Flags.string({ description: 'Only events of this owner.', helpValue: '<id>' }),
    actor: Flags.string({ description: 'Only events of this actor, such as key:ci.' }),
    since: Flags.integer({
      description: 'Start after the event with this id; 0 starts with the oldest one.',
      min: 0,
    }),
    follow: Flags.boolean({
      description: 'Wait for new events; --no-follow ends after the stored ones.',
      default: true,
      allowNo: true,
    }),
  };

  async run() {
    const { flags } = await this.parse(Events);
    this.log(eventHead());
    for await (const event of followEvents(flags)) {
      if (this.jsonEnabled()) this.logJson(event);
      else this.log(eventLine(event));
    }
  }

  /** Prints one object a line, failures too, and nothing at the end. */
  protected override logJson(json: unknown): void {
    if (json !== undefined) print(printableJson(json));
  }
}
