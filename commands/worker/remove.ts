// svc worker remove
import { ClientCommand } from '../../src/cli/client-command.ts';
import { line } from '../../src/cli/print.ts';
import { workerArg } from '../../src/cli/worker-view.ts';

export default class WorkerRemove extends ClientCommand {
  static override summary = 'Remove a worker.';
  static override description =
    'Refuses to remove a worker that has sandboxes. A worker that is still running comes back with its next heartbeat. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %> edge-1'];
  static override args = workerArg;

  async run() {
    const { args, flags } = await this.parse(WorkerRemove);
    await this.connect(flags).workers.remove(args.worker);
    this.log(line`Removed worker ${args.worker}.`);
    return { status: 'deleted' };
  }
}
