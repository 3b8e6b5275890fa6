// svc sandbox clean
import { Flags } from '@oclif/core';
import { localSandboxes } from '../../src/app/local-sandboxes.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { cleanText } from '../../src/cli/local-sandbox-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { cleanLocal } from '../../src/ops/local-sandboxes.ts';

export default class SandboxClean extends OperatorCommand {
  static override summary = 'End the sandboxes that are left on this machine while no server runs.';
  static override description =
    'Lists what the providers of this configuration still have, and with --yes ends it: processes, containers, virtual machines, cgroups and folders. Refuses while a server uses the database. Exits with 1 if a sandbox could not be ended.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --local',
    '<%= config.bin %> <%= command.id %> --local --expired --yes',
    '<%= config.bin %> <%= command.id %> --local --yes --json',
  ];
  static override flags = {
    local: Flags.boolean({
      description: 'Confirm that sandboxes of this machine are meant.',
      required: true,
    }),
    expired: Flags.boolean({ description: 'Only sandboxes whose recorded end has passed.' }),
    yes: Flags.boolean({ description: 'End them; without it they are only listed.', char: 'y' }),
    config: configFlag,
  };

  async run() {
    const { flags } = await this.parse(SandboxClean);
    const { expired, yes: confirmed } = flags;
    const report = await this.watched({}, ({ signal }) =>
      cleanLocal(localSandboxes(flags.config), { expired, confirmed }, signal),
    );
    if (report && report.failed.length > 0) process.exitCode = 1;
    return report && this.show(report, (left) => cleanText(left, Date.now()));
  }
}
