// svc template update
import { Args, Flags } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import {
  factsOf,
  requireImage,
  templateFile,
  templateFlagFacts,
  templateFlags,
} from '../../src/cli/template-flags.ts';
import { templateFacts } from '../../src/cli/template-view.ts';
import type { TemplateUpdate as Request } from '../../src/schema/template.ts';

export default class TemplateUpdate extends ClientCommand {
  static override summary = 'Change a template.';
  static override description =
    'With --file, replaces the template. With flags only, reads the template, changes these fields, and fails if somebody else changed it in between. Reading a template that has environment variables needs an admin key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> python --memory 1024',
    '<%= config.bin %> <%= command.id %> python --file template.yaml --if-match 3',
  ];
  static override args = { name: Args.string({ description: 'Template name.', required: true }) };
  static override flags = {
    ...ClientCommand.flags,
    ...templateFlags,
    'if-match': Flags.integer({ description: 'Fail unless this is the current version.', min: 1 }),
  };

  async run() {
    const { args, flags } = await this.parse(TemplateUpdate);
    const { templates } = this.connect(flags);
    const current = flags.file === undefined ? await templates.get(args.name) : undefined;
    const fields = current ? factsOf(current) : templateFile(flags.file ?? '');
    const request = { ...fields, ...templateFlagFacts(flags) } as Request;
    requireImage(request);
    return this.show(
      await templates.update(args.name, request, flags['if-match'] ?? current?.version),
      templateFacts,
    );
  }
}
