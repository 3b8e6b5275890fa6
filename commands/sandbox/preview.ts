// svc sandbox preview
import { Args, Flags } from '@oclif/core';
import { idArg } from '../../src/cli/args.ts';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { openBrowser } from '../../src/cli/open-browser.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import type { PreviewLink } from '../../src/schema/preview.ts';

export default class SandboxPreview extends SvcCommand<PreviewLink> {
  static override summary = 'Print a link to what a sandbox serves on a port.';
  static override description =
    'Needs server.preview_domain. Where previews are signed the link lets in whoever has it until it expires; where they are public it is good as long as the sandbox.';
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
    ...clientFlags,
    ttl: Flags.string({ description: 'How long a signed link is good, for example 15m; 1h when omitted.' }),
    open: Flags.boolean({ description: 'Open it in the browser, too.' }),
  };

  async run(): Promise<PreviewLink> {
    const { args, flags } = await this.parse(SandboxPreview);
    const link = await connect(flags).preview(args.id, args.port, flags.ttl);
    this.log(line`${link.url}`);
    if (flags.open) await openBrowser(link.url);
    return link;
  }
}
