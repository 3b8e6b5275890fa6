// svc sandbox prune
import { ClientCommand } from '../../src/cli/client-command.ts';
import { line } from '../../src/cli/print.ts';

export default class SandboxPrune extends ClientCommand {
  static override summary = 'Destroy expired sandboxes now.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(SandboxPrune);
    const result = await this.connect(flags).prune();
    this.log(line`${result.pruned} pruned`);
    return result;
  }
}
