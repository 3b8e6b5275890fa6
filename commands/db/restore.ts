// svc db restore
import { Args, Flags } from '@oclif/core';
import { thisOperator } from '../../src/app/operator.ts';
import { databaseFlags, databaseOf } from '../../src/cli/database-flag.ts';
import { restoreText, STAGE_WORDS } from '../../src/cli/db-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { restoreDatabase } from '../../src/ops/db/restore.ts';
import type { RestoreReport } from '../../src/schema/db-report.ts';

export default class DbRestore extends OperatorCommand<RestoreReport> {
  static override summary = 'Put a backup in the place of the database. The service must be stopped.';
  static override description =
    'Takes the lock that a running service holds, checks the backup, keeps the present database beside it (NAME.before-TIME) and says how to bring it back. Whatever ends it half-way, the database is the whole old one or the whole new one. Logs that stand beside either file change nothing. Counters of event ids and of pool uids are not set back, so that none is given twice.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> /var/backups/svc.db --dry-run',
    '<%= config.bin %> <%= command.id %> /var/backups/svc.db --yes',
    '<%= config.bin %> <%= command.id %> nightly.db --database /var/lib/svc/svc.db --yes --json',
  ];
  static override args = {
    input: Args.string({ description: 'Backup to restore.', required: true }),
  };
  static override flags = {
    ...databaseFlags,
    yes: Flags.boolean({ description: 'Replace the database; nothing is asked.', exclusive: ['dry-run'] }),
    'dry-run': Flags.boolean({ description: 'Check everything and change nothing.' }),
  };

  async run(): Promise<RestoreReport | { interrupted: true }> {
    const { args, flags } = await this.parse(DbRestore);
    if (!flags.yes && !flags['dry-run']) throw unconfirmed();
    const request = { input: args.input, database: databaseOf(flags), dryRun: flags['dry-run'] };
    const { clock } = thisOperator();
    const report = await this.watched(STAGE_WORDS, (watch) =>
      restoreDatabase({ ...request, ...watch }, clock),
    );
    if (!report) return this.interrupted();
    this.log(restoreText(report));
    return report;
  }
}

const unconfirmed = () =>
  new ServiceError('bad_request', 'A restore replaces the database.', {
    remedy: 'Look at what it would do with --dry-run, then say --yes.',
  });
