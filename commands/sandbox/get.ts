// svc sandbox get
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { sandboxFacts } from '../../src/cli/sandbox-view.ts';

export default class SandboxGet extends ClientCommand {
  static override summary = 'Show one sandbox.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab'];
  static override args = { id: idArg };

  async run() {
    const { args, flags } = await this.parse(SandboxGet);
    return this.show(await this.connect(flags).get(args.id), sandboxFacts);
  }
}
