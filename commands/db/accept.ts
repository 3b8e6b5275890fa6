// svc db accept
import { databaseFlags, databaseOf } from '../../src/cli/config-flags.ts';
import { acceptText } from '../../src/cli/db-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { acceptLoss } from '../../src/ops/db/inspect.ts';

export default class DbAccept extends SvcCommand {
  static override summary = 'Accept the loss of acknowledged writes after an unclean stop.';
  static override description =
    'After an unclean stop, a server that finds its database log missing, truncated or foreign reports degraded health, also after restarts, until the loss is accepted. Check first whether a backup has the missing writes. The command does not change the database, which may be in use.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --database /var/lib/svc/svc.db --json',
  ];
  static override flags = databaseFlags;

  async run() {
    const { flags } = await this.parse(DbAccept);
    const database = databaseOf(flags, 'accept');
    return this.show(await withLocalErrors(acceptLoss(database)), acceptText);
  }
}
