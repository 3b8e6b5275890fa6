// svc worker list
import { ClientCommand } from '../../src/cli/client-command.ts';
import { workerTable } from '../../src/cli/worker-view.ts';

export default class WorkerList extends ClientCommand {
  static override summary = 'List workers; local is the server itself.';
  static override description =
    'Shows what each worker holds: its sandboxes by provider, how many more it can take, processors and memory. A dash stands for what is not known.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(WorkerList);
    return this.show(await this.connect(flags).workers.list(), (workers) => workerTable(workers, Date.now()));
  }
}
