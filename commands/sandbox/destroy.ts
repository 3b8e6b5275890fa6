// svc sandbox destroy
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { type Destroyed, destroyAll } from '../../src/cli/destroy-all.ts';
import { line } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

export default class SandboxDestroy extends SvcCommand<Destroyed> {
  static override strict = false;
  static override summary = 'Destroy sandboxes.';
  static override description =
    'Returns when the sandboxes have ended. A sandbox that does not exist is reported, but is not an error.';
  static override usage = 'sandbox destroy ID [ID…]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> $(<%= config.bin %> sandbox list --json | jq -r .[].id)',
  ];
  static override flags = clientFlags;

  async run(): Promise<Destroyed> {
    const { flags, argv } = await this.parse(SandboxDestroy);
    const ids = argv as string[];
    const result = await destroyAll(connect(flags), ids);
    for (const id of ids)
      this.log(result.not_there.includes(id) ? line`${id}: was not there` : line`${id} destroyed`);
    return result;
  }
}
