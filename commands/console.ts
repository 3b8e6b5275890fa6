// svc console
import { Flags } from '@oclif/core';
import { ClientCommand } from '../src/cli/client-command.ts';
import { consoleAddress } from '../src/cli/console-address.ts';
import { openBrowser } from '../src/cli/open-browser.ts';
import { line } from '../src/cli/print.ts';

export default class Console extends ClientCommand {
  static override summary = 'Open the web console, logged in.';
  static override description =
    'Opens the browser with a code that is good once, within a minute, in place of the key. Browsers do not send the part of the address that holds the code. With --user the session acts for that owner alone.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --user ann --no-open',
  ];
  static override flags = {
    ...ClientCommand.flags,
    open: Flags.boolean({
      description: 'Open the address in the browser; --no-open prints it only.',
      allowNo: true,
      default: true,
    }),
  };

  async run() {
    const { flags } = await this.parse(Console);
    const url = await consoleAddress(this.connect(flags), flags.server);
    this.log(line`${url}`);
    if (flags.open) await openBrowser(url);
    return { url };
  }
}
