// svc sandbox egress
import { Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { egressPolicy, policyFlags } from '../../src/cli/egress-flags.ts';
import { egressFacts } from '../../src/cli/egress-view.ts';

export default class SandboxEgress extends ClientCommand {
  static override summary = 'Show or change the egress policy of a sandbox.';
  static override description =
    'Without flags, shows the policy in force. With flags, replaces the policy of the spawn; rules of the server, the owner and the template still apply. Connections that are no longer allowed are closed at once.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --allow api.example.com',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab --clear',
  ];
  static override args = { id: idArg };
  static override flags = {
    ...ClientCommand.flags,
    ...policyFlags,
    clear: Flags.boolean({
      description: 'Remove all rules of the spawn, so that nothing is allowed.',
      exclusive: ['allow', 'deny', 'default'],
    }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxEgress);
    const { egress } = this.connect(flags);
    const policy = flags.clear ? {} : egressPolicy(flags);
    return this.show(await (policy ? egress.set(args.id, policy) : egress.get(args.id)), egressFacts);
  }
}
