// svc worker remove
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { workerArg } from '../../src/cli/worker-view.ts';

export default class WorkerRemove extends SvcCommand<{ status: 'deleted' }> {
  static override summary = 'Remove a worker.';
  static override description =
    'Refuses to remove a worker that has sandboxes. A worker that is still running comes back with its next heartbeat. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %> edge-1'];
  static override args = workerArg;
  static override flags = clientFlags;

  async run(): Promise<{ status: 'deleted' }> {
    const { args, flags } = await this.parse(WorkerRemove);
    await connect(flags).workers.remove(args.worker);
    this.log(line`Removed worker ${args.worker}.`);
    return { status: 'deleted' };
  }
}
