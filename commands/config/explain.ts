// svc config explain
import { Args } from '@oclif/core';
import { configFlag } from '../../src/cli/config-flag.ts';
import { explainedText, explainKey } from '../../src/cli/config-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { loadProcessConfig } from '../../src/config/process-config.ts';

export default class ConfigExplain extends SvcCommand {
  static override summary = 'Explain one configuration key.';
  static override description =
    'Shows its meaning, accepted values, default, environment variable, current value and the source of that value.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> server.port',
    '<%= config.bin %> <%= command.id %> SVC_DEFAULTS_TTL',
  ];
  static override args = { key: Args.string({ description: 'Key path or variable.', required: true }) };
  static override flags = { config: configFlag };

  async run() {
    const { args, flags } = await this.parse(ConfigExplain);
    const explained = explainKey(args.key, () => loadProcessConfig({ file: flags.config }));
    this.log(explainedText(explained));
    return explained;
  }
}
