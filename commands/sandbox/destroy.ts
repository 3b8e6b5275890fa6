// svc sandbox destroy
import { clientFlags, connect } from '../../src/cli/connection.ts';
import { destroyAll } from '../../src/cli/destroy-all.ts';
import { line } from '../../src/cli/say.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';

export default class SandboxDestroy extends SvcCommand<{ destroyed: string[] }> {
  static override strict = false;
  static override summary = 'Destroy sandboxes.';
  static override description = 'Answers when they are gone. One that is gone already counts as destroyed.';
  static override usage = 'sandbox destroy ID [ID…]';
  static override examples = [
    '<%= config.bin %> <%= command.id %> sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> $(<%= config.bin %> sandbox list --json | jq -r .[].id)',
  ];
  static override flags = clientFlags;

  async run(): Promise<{ destroyed: string[] }> {
    const { flags, argv } = await this.parse(SandboxDestroy);
    const destroyed = await destroyAll(connect(flags), argv as string[]);
    for (const id of destroyed) this.log(line`${id} destroyed`);
    return { destroyed };
  }
}
