// svc template delete
import { Args } from '@oclif/core';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

export default class TemplateDelete extends SvcCommand<{ status: 'deleted' }> {
  static override summary = 'Delete a template.';
  static override description =
    'Sandboxes that were spawned from it keep running; unused prewarmed sandboxes end.';
  static override examples = ['<%= config.bin %> <%= command.id %> python'];
  static override args = { name: Args.string({ description: 'Template name.', required: true }) };
  static override flags = clientFlags;

  async run(): Promise<{ status: 'deleted' }> {
    const { args, flags } = await this.parse(TemplateDelete);
    await connect(flags).templates.delete(args.name);
    this.log(line`${args.name} deleted`);
    return { status: 'deleted' };
  }
}
