// svc sandbox destroy

import { destroyAll } from '../../src/cli/batch.ts';
import { ClientCommand } from '../../src/cli/client-command.ts';
import { line } from '../../src/cli/print.ts';

export default class SandboxDestroy extends ClientCommand {
  static override strict = false;
  static override summary = 'Destroy sandboxes.';
  static override description =
    'Returns when the sandboxes have ended. A sandbox that does not exist is reported, but is not an error.';
  static override usage = 'sandbox destroy ID [ID…]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> $(<%= config.bin %> sandbox list --json | jq -r .[].id)',
  ];

  async run() {
    const { flags, argv } = await this.parse(SandboxDestroy);
    const ids = argv as string[];
    const result = await destroyAll(this.connect(flags), ids);
    for (const id of ids)
      this.log(result.not_there.includes(id) ? line`${id}: was not there` : line`${id} destroyed`);
    return result;
  }
}
