// svc template delete

import { Args } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { line } from '../../src/cli/print.ts';

export default class TemplateDelete extends ClientCommand {
  static override summary = 'Delete a template.';
  static override description =
    'Sandboxes that were spawned from it keep running; unused prewarmed sandboxes end.';
  static override examples = ['<%= config.bin %> <%= command.id %> python'];
  static override args = { name: Args.string({ description: 'Template name.', required: true }) };

  async run() {
    const { args, flags } = await this.parse(TemplateDelete);
    await this.connect(flags).templates.delete(args.name);
    this.log(line`${args.name} deleted`);
    return { status: 'deleted' };
  }
}
