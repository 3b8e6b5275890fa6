// svc template create
import { Args } from '@oclif/core';
import { ClientCommand } from '../../src/cli/client-command.ts';
import {
  requireImage,
  templateFile,
  templateFlagFacts,
  templateFlags,
} from '../../src/cli/template-flags.ts';
import { templateFacts } from '../../src/cli/template-view.ts';
import type { TemplateCreate as Request } from '../../src/schema/template.ts';

export default class TemplateCreate extends ClientCommand {
  static override summary = 'Create a template.';
  static override description =
    'Reads the template from flags, from a YAML or JSON file, or from a file with flags that override it. If the server enforces owners, the template belongs to the owner in --user; an admin key without an owner creates a shared template.';
  static override examples = [
    "<%= config.bin %> <%= command.id %> python --image python:3.12 --setup 'pip install numpy' --prewarm 2",
    '<%= config.bin %> <%= command.id %> --file template.yaml',
  ];
  static override args = {
    name: Args.string({ description: 'Template name; defaults to the name in the file.', ignoreStdin: true }),
  };
  static override flags = { ...ClientCommand.flags, ...templateFlags };

  async run() {
    const { args, flags } = await this.parse(TemplateCreate);
    const fields = flags.file === undefined ? {} : templateFile(flags.file);
    const name = args.name === undefined ? {} : { name: args.name };
    const request = { ...fields, ...templateFlagFacts(flags), ...name } as Request;
    requireImage(request);
    return this.show(await this.connect(flags).templates.create(request), templateFacts);
  }
}
