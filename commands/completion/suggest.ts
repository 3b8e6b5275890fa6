// svc completion suggest
import { complete } from '../../src/cli/complete.ts';
import { connect } from '../../src/cli/connection.ts';
import { print } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

/** The server has this long to answer; people wait for it at every press of the tab key. */
const DEADLINE_MS = 300;

export default class CompletionSuggest extends SvcCommand {
  static override hidden = true;
  static override strict = false;
  static override summary = 'Print the words that complete the last one after --.';
  static override description =
    'The scripts of `svc completion` call it. It prints one suggestion a line, and nothing from a server that does not answer within 300 ms.';
  static override usage = 'completion suggest -- [WORDS]';
  static override examples = ["<%= config.bin %> <%= command.id %> -- sandbox get ''"];

  async run() {
    await this.parse(CompletionSuggest);
    const words = this.argv.slice(this.argv.indexOf('--') + 1);
    const suggestions = await complete(words, this.config.commands, (flags) => {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      return { client: connect({ ...flags, retry: false }), signal };
    });
    if (suggestions.length > 0) print(suggestions.join('\n'));
  }
}
