// svc sandbox explain

import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { explain, explanationText } from '../../src/cli/explain.ts';

export default class SandboxExplain extends ClientCommand {
  static override summary = 'Explain the state of a sandbox, or why it ended.';
  static override description =
    'Explains an ended sandbox for as long as the server keeps its record (default: a day).';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab'];
  static override args = { id: idArg };

  async run() {
    const { args, flags } = await this.parse(SandboxExplain);
    return this.show(await explain(this.connect(flags), args.id), (explanation) =>
      explanationText(explanation, Date.now()),
    );
  }
}
