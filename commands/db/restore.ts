// svc db restore
import { Args, Flags } from '@oclif/core';
import { thisOperator } from '../../src/app/operator.ts';
import { databaseFlags, databaseOf } from '../../src/cli/config-flags.ts';
import { restoreText, STAGE_WORDS } from '../../src/cli/db-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { restoreDatabase } from '../../src/ops/db/restore.ts';

export default class DbRestore extends OperatorCommand {
  static override summary = 'Replace the database with a backup. The service must be stopped.';
  static override description =
    'Takes the lock that a running service holds, checks the backup, keeps the current database as NAME.before-TIME and prints how to undo the restore. The replacement is atomic: after a crash you have either the old or the new database. Log files beside either database do not matter. Counters of event ids and pool uids never go back, so no id is used twice.';
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
    yes: Flags.boolean({
      description: 'Replace the database without asking for confirmation.',
      exclusive: ['dry-run'],
    }),
    'dry-run': Flags.boolean({ description: 'Check everything without changing anything.' }),
  };

  async run() {
    const { args, flags } = await this.parse(DbRestore);
    if (!flags.yes && !flags['dry-run'])
      throw new ServiceError('bad_request', 'A restore replaces the database.', {
        remedy: 'Run it with --dry-run first, then with --yes.',
      });
    const request = { input: args.input, database: databaseOf(flags, 'restore'), dryRun: flags['dry-run'] };
    const { clock } = thisOperator();
    const report = await this.watched(STAGE_WORDS, (watch) =>
      restoreDatabase({ ...request, ...watch }, clock),
    );
    if (!report) return this.interrupted();
    this.log(restoreText(report));
    return report;
  }
}
