// svc worker remove
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { workerArg } from '../../src/cli/worker-view.ts';

export default class WorkerRemove extends SvcCommand<{ status: 'deleted' }> {
  static override summary = 'Forget a worker that has gone for good.';
  static override description =
    'Refused while it holds sandboxes. One that still runs is back with its next heartbeat. Needs the admin key.';
  static override examples = ['<%= config.bin %> <%= command.id %> edge-1'];
  static override args = workerArg;
  static override flags = clientFlags;

  async run(): Promise<{ status: 'deleted' }> {
    const { args, flags } = await this.parse(WorkerRemove);
    await connect(flags).workers.remove(args.worker);
    this.log(line`The worker ${args.worker} is forgotten.`);
    return { status: 'deleted' };
  }
}
