// svc sandbox prune
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { PruneResult } from '../../src/schema/sandbox.ts';

export default class SandboxPrune extends SvcCommand<PruneResult> {
  static override summary = 'Destroy expired sandboxes now.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<PruneResult> {
    const { flags } = await this.parse(SandboxPrune);
    const result = await connect(flags).prune();
    this.log(line`${result.pruned} pruned`);
    return result;
  }
}
