// svc config schema
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { configJsonSchema } from '../../src/config/json-schema.ts';

export default class ConfigSchema extends SvcCommand {
  static override summary = 'Print the JSON Schema of svc.yaml.';
  static override description =
    'JSON Schema 2020-12 with descriptions and defaults, for editors and other tools.';
  static override examples = ['<%= config.bin %> <%= command.id %> > svc.schema.json'];

  async run() {
    await this.parse(ConfigSchema);
    const schema = configJsonSchema();
    this.log(JSON.stringify(schema, null, 2));
    return schema;
  }
}
