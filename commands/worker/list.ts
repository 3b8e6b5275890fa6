// svc worker list
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { workerTable } from '../../src/cli/worker-view.ts';
import type { Worker } from '../../src/schema/worker.ts';

export default class WorkerList extends SvcCommand<Worker[]> {
  static override summary = 'List workers; local is the server itself.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<Worker[]> {
    const { flags } = await this.parse(WorkerList);
    const workers = await connect(flags).workers.list();
    this.log(workerTable(workers));
    return workers;
  }
}
