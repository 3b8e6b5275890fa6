// svc template get
import { Args } from '@oclif/core';
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { templateFacts } from '../../src/cli/template-view.ts';
import type { Template } from '../../src/schema/template.ts';

export default class TemplateGet extends SvcCommand<Template> {
  static override summary = 'Show one template.';
  static override description = 'Only admin keys see the values of its environment variables.';
  static override examples = ['<%= config.bin %> <%= command.id %> python'];
  static override args = { name: Args.string({ description: 'Template name.', required: true }) };
  static override flags = clientFlags;

  async run(): Promise<Template> {
    const { args, flags } = await this.parse(TemplateGet);
    const template = await connect(flags).templates.get(args.name);
    this.log(templateFacts(template));
    return template;
  }
}
