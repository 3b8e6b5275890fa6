// svc sandbox ports
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { portTable } from '../../src/cli/sandbox-view.ts';

export default class SandboxPorts extends ClientCommand {
  static override summary = 'List the TCP ports on which programs of a sandbox listen.';
  static override description = 'Make a link to one of them with `svc sandbox preview`.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab'];
  static override args = { id: idArg };

  async run() {
    const { args, flags } = await this.parse(SandboxPorts);
    return this.show(await this.connect(flags).ports(args.id), portTable);
  }
}
