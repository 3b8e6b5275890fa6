// svc template list
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { templateTable } from '../../src/cli/template-view.ts';
import type { Template } from '../../src/schema/template.ts';

export default class TemplateList extends SvcCommand<Template[]> {
  static override summary = 'List templates, newest first.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];
  static override flags = clientFlags;

  async run(): Promise<Template[]> {
    const { flags } = await this.parse(TemplateList);
    const { templates } = await connect(flags).templates.page();
    this.log(templateTable(templates, Date.now()));
    return templates;
  }
}
