// svc sandbox explain

import { idArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { type Explanation, explain, explanationText } from '../../src/cli/explain.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

export default class SandboxExplain extends SvcCommand<Explanation> {
  static override summary = 'Explain the state of a sandbox, or why it ended.';
  static override description =
    'Explains an ended sandbox for as long as the server keeps its record (default: a day).';
  static override examples = ['<%= config.bin %> <%= command.id %> sb-0123456789ab'];
  static override args = { id: idArg };
  static override flags = clientFlags;

  async run(): Promise<Explanation> {
    const { args, flags } = await this.parse(SandboxExplain);
    const explanation = await explain(connect(flags), args.id);
    this.log(explanationText(explanation, Date.now()));
    return explanation;
  }
}
