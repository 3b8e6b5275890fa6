// svc worker get
import { ClientCommand } from '../../src/cli/client-command.ts';
import { workerArg, workerFacts } from '../../src/cli/worker-view.ts';

export default class WorkerGet extends ClientCommand {
  static override summary = 'Show a worker.';
  static override examples = ['<%= config.bin %> <%= command.id %> edge-1'];
  static override args = workerArg;

  async run() {
    const { args, flags } = await this.parse(WorkerGet);
    return this.show(await this.connect(flags).workers.get(args.worker), workerFacts);
  }
}
