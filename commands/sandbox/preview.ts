// svc sandbox preview
import { Args, Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { openBrowser } from '../../src/cli/open-browser.ts';
import { line } from '../../src/cli/print.ts';

export default class SandboxPreview extends ClientCommand {
  static override summary = 'Print a link to a port of a sandbox.';
  static override description =
    'Needs server.preview_domain. Anybody who has a signed link can use it until it expires. A public link works as long as the sandbox runs.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab 8080',
    '<%= config.bin %> <%= command.id %> sb-0123456789ab 5173 --ttl 15m --open',
  ];
  static override args = {
    id: idArg,
    port: Args.integer({
      description: 'Port on which a program in the sandbox listens.',
      required: true,
      min: 1,
      max: 65_535,
    }),
  };
  static override flags = {
    ...ClientCommand.flags,
    ttl: Flags.string({ description: 'Lifetime of a signed link, for example 15m; defaults to 1h.' }),
    open: Flags.boolean({ description: 'Also open the link in the browser.' }),
  };

  async run() {
    const { args, flags } = await this.parse(SandboxPreview);
    const link = await this.connect(flags).preview(args.id, args.port, flags.ttl);
    this.log(line`${link.url}`);
    if (flags.open) await openBrowser(link.url);
    return link;
  }
}
