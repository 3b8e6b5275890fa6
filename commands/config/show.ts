// svc config show

import { configFlag } from '../../src/cli/config-flag.ts';
import { configTable, shownConfig } from '../../src/cli/config-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { loadProcessConfig } from '../../src/config/process-config.ts';

export default class ConfigShow extends SvcCommand {
  static override summary = 'Show the effective configuration and the source of each value.';
  static override description =
    'SVC_ variables override the files, and the files override the defaults. Secrets are masked. All errors are reported together.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --config /etc/svc/svc.yaml --json',
  ];
  static override flags = { config: configFlag };

  async run() {
    const { flags } = await this.parse(ConfigShow);
    const shown = shownConfig(loadProcessConfig({ file: flags.config }));
    this.log(configTable(shown));
    return shown;
  }
}
