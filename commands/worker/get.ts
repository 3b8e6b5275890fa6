// svc worker get
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { workerArg, workerFacts } from '../../src/cli/worker-view.ts';
import type { Worker } from '../../src/schema/worker.ts';

export default class WorkerGet extends SvcCommand<Worker> {
  static override summary = 'Show a worker.';
  static override examples = ['<%= config.bin %> <%= command.id %> edge-1'];
  static override args = workerArg;
  static override flags = clientFlags;

  async run(): Promise<Worker> {
    const { args, flags } = await this.parse(WorkerGet);
    const worker = await connect(flags).workers.get(args.worker);
    this.log(workerFacts(worker));
    return worker;
  }
}
