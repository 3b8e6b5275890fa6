// svc worker drain
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { waitOnTerminal } from '../../src/cli/drain-wait.ts';
import { line } from '../../src/cli/print.ts';
import { workerArg } from '../../src/cli/worker-view.ts';
import { parseDuration } from '../../src/domain/duration.ts';
import { ERROR_TABLE } from '../../src/domain/errors.ts';

export default class WorkerDrain extends ClientCommand {
  static override summary = 'Stop assigning sandboxes to a worker.';
  static override description =
    `Its sandboxes keep running. The drain lasts until --undo, also across heartbeats and restarts. \`local\`, the server itself, can be drained too. With --wait the command ends when the worker holds no sandboxes, prewarmed ones included; after --timeout it names those that are left and exits with ${ERROR_TABLE.timeout.exit}, and the drain stays in force. Needs the admin key.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> edge-1',
    '<%= config.bin %> <%= command.id %> edge-1 --wait --timeout 30m',
    '<%= config.bin %> <%= command.id %> edge-1 --undo',
  ];
  static override args = workerArg;
  static override flags = {
    ...ClientCommand.flags,
    undo: Flags.boolean({ description: 'Assign sandboxes again.' }),
    wait: Flags.boolean({
      description: 'Wait until the worker holds no sandboxes, prewarmed ones included.',
      exclusive: ['undo'],
    }),
    timeout: Flags.string({
      description: 'How long to wait, for example 30m. Without it, as long as it takes.',
      dependsOn: ['wait'],
    }),
  };

  async run() {
    const { args, flags } = await this.parse(WorkerDrain);
    const timeoutMs = flags.timeout === undefined ? undefined : parseDuration(flags.timeout, '--timeout');
    const client = this.connect(flags);
    const worker = await client.workers.drain(args.worker, !flags.undo);
    if (flags.wait) {
      const emptied = await waitOnTerminal(client, args.worker, timeoutMs);
      if (emptied) this.log(line`${args.worker} takes no new sandboxes and holds none.`);
      else this.logToStderr(line`The drain of ${args.worker} stays in force.`);
      return emptied ?? this.interrupted();
    }
    const { active_sandboxes: left } = worker;
    this.log(
      worker.drain
        ? line`${worker.id} takes no new sandboxes; ${left} are still running.`
        : line`${worker.id} takes sandboxes again.`,
    );
    return worker;
  }
}
