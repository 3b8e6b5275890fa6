// svc sandbox get
import { idArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { sandboxFacts } from '../../src/cli/sandbox-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';

export default class SandboxGet extends SvcCommand<Sandbox> {
  static override summary = 'Show one sandbox.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab'];
  static override args = { id: idArg };
  static override flags = clientFlags;

  async run(): Promise<Sandbox> {
    const { args, flags } = await this.parse(SandboxGet);
    const sandbox = await connect(flags).get(args.id);
    this.log(sandboxFacts(sandbox));
    return sandbox;
  }
}
