// svc egress check
import { Args } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { checkRequest, policyFlags } from '../../src/cli/egress-flags.ts';
import { egressCheckFacts } from '../../src/cli/egress-view.ts';

export default class EgressCheck extends ClientCommand {
  static override summary = 'Check whether an egress policy allows a connection.';
  static override description =
    'Says which rule of which layer decides, and the addresses that a connection would try. Opens no connection, and looks up only names that the rules allow.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab api.example.com:443',
    '<%= config.bin %> <%= command.id %> pypi.org --allow @packages',
  ];
  static override args = {
    sandbox: Args.string({
      description: 'Sandbox id. Without it, the policy of the flags is checked.',
      required: true,
      ignoreStdin: true,
    }),
    target: Args.string({ description: 'HOST or HOST:PORT; port 443 if omitted.', ignoreStdin: true }),
  };
  static override flags = { ...ClientCommand.flags, ...policyFlags };
  static override usage = 'egress check [SANDBOX] HOST[:PORT] [FLAGS]';

  async run() {
    const { args, flags } = await this.parse(EgressCheck);
    const request = checkRequest(args.sandbox, args.target, flags);
    return this.show(await this.connect(flags).egress.check(request), egressCheckFacts);
  }
}
