// svc db accept
import { databaseFlags, databaseOf } from '../../src/cli/database-flag.ts';
import { acceptText } from '../../src/cli/db-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { acceptLoss } from '../../src/ops/db/accept.ts';
import type { AcceptReport } from '../../src/schema/db-report.ts';

export default class DbAccept extends SvcCommand<AcceptReport> {
  static override summary = 'Accept that an unclean stop took acknowledged writes: health is ok again.';
  static override description =
    'A server that finds the log of its database missing, cut or foreign after an unclean stop says so in its health until this is accepted, also over restarts. Look first whether a backup holds what is missing. The database itself is not changed, and may be in use.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --database /var/lib/svc/svc.db --json',
  ];
  static override flags = databaseFlags;

  async run(): Promise<AcceptReport> {
    const { flags } = await this.parse(DbAccept);
    const database = databaseOf(flags);
    const report = await withLocalErrors(acceptLoss(database));
    this.log(acceptText(report));
    return report;
  }
}
