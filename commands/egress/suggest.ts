// svc egress suggest
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { egressSuggestionText } from '../../src/cli/egress-view.ts';

export default class EgressSuggest extends ClientCommand {
  static override summary = 'Suggest egress rules from what a sandbox tried to reach.';
  static override description =
    'Prints YAML for the egress of a template. Leaves out what a deny rule or the address forbids. Read the rules before you use them: the sandbox chose them.';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab > egress.yaml'];
  static override args = { id: idArg };

  async run() {
    const { args, flags } = await this.parse(EgressSuggest);
    return this.show(await this.connect(flags).egress.suggest(args.id), egressSuggestionText);
  }
}
