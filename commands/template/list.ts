// svc template list
import { ClientCommand } from '../../src/cli/client-command.ts';
import { templateTable } from '../../src/cli/template-view.ts';

export default class TemplateList extends ClientCommand {
  static override summary = 'List templates, newest first.';
  static override examples = ['<%= config.bin %> <%= command.id %>'];

  async run() {
    const { flags } = await this.parse(TemplateList);
    const { templates } = await this.connect(flags).templates.page();
    this.log(templateTable(templates, Date.now()));
    return templates;
  }
}
