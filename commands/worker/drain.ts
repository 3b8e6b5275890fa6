// svc worker drain
import { Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { line } from '../../src/cli/print.ts';
import { workerArg } from '../../src/cli/worker-view.ts';

export default class WorkerDrain extends ClientCommand {
  static override summary = 'Stop assigning sandboxes to a worker.';
  static override description =
    'Its sandboxes keep running. The drain lasts until --undo, also across heartbeats and restarts. `local`, the server itself, can be drained too. Needs the admin key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> edge-1',
    '<%= config.bin %> <%= command.id %> edge-1 --undo',
  ];
  static override args = workerArg;
  static override flags = {
    ...ClientCommand.flags,
    undo: Flags.boolean({ description: 'Assign sandboxes again.' }),
  };

  async run() {
    const { args, flags } = await this.parse(WorkerDrain);
    const worker = await this.connect(flags).workers.drain(args.worker, !flags.undo);
    const { active_sandboxes: left } = worker;
    this.log(
      worker.drain
        ? line`${worker.id} takes no new sandboxes; ${left} are still running.`
        : line`${worker.id} takes sandboxes again.`,
    );
    return worker;
  }
}
