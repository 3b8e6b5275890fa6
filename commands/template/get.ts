// svc template get
import { Args } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { templateFacts } from '../../src/cli/template-view.ts';

export default class TemplateGet extends ClientCommand {
  static override summary = 'Show one template.';
  static override description = 'Only admin keys see the values of its environment variables.';
  static override examples = ['<%= config.bin %> <%= command.id %> python'];
  static override args = { name: Args.string({ description: 'Template name.', required: true }) };

  async run() {
    const { args, flags } = await this.parse(TemplateGet);
    return this.show(await this.connect(flags).templates.get(args.name), templateFacts);
  }
}
