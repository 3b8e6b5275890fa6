// svc db backup
import { Args, Flags } from '@oclif/core';
import { thisOperator } from '../../src/app/operator.ts';
import { databaseFlags, databaseOf } from '../../src/cli/config-flags.ts';
import { backupText, STAGE_WORDS } from '../../src/cli/db-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { backupDatabase } from '../../src/ops/db/backup.ts';

export default class DbBackup extends OperatorCommand {
  static override summary = 'Back up the database, even while the service is running.';
  static override description =
    'Copies a consistent state of the database and checks the copy (pages, indexes, references, schema, counters) before it gets its name. The service keeps running. An interrupted backup leaves no file under that name. The backup contains everything in the database, including environment variables and keys, so only its owner can read it (mode 0600).';
  static override examples = [
    '<%= config.bin %> <%= command.id %> /var/backups/svc.db',
    '<%= config.bin %> <%= command.id %> nightly.db --database /var/lib/svc/svc.db --force --json',
  ];
  static override args = {
    output: Args.string({ description: 'File to write.', required: true }),
  };
  static override flags = {
    ...databaseFlags,
    force: Flags.boolean({ description: 'Replace an existing file.' }),
  };

  async run() {
    const { args, flags } = await this.parse(DbBackup);
    const request = { database: databaseOf(flags, 'backup'), output: args.output, force: flags.force };
    const { clock } = thisOperator();
    const report = await this.watched(STAGE_WORDS, (watch) =>
      backupDatabase({ ...request, ...watch }, clock),
    );
    if (!report) return this.interrupted();
    this.log(backupText(report));
    return report;
  }
}
