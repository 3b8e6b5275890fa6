// svc db copy
import { Flags } from '@oclif/core';
import { thisOperator } from '../../src/app/operator.ts';
import { configFlag } from '../../src/cli/config-flag.ts';
import { placeFlag } from '../../src/cli/config-flags.ts';
import { PLACE_HELP, placeOf } from '../../src/cli/database-place.ts';
import { copyText, STAGE_WORDS } from '../../src/cli/db-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { copyFromPostgres, copyToPostgres } from '../../src/ops/db/copy.ts';

export default class DbCopy extends OperatorCommand {
  static override summary =
    'Copy the database from a file to PostgreSQL, or back. The service must be stopped.';
  static override description =
    'Copies all records in one transaction, with the identity and the keys of the service: sandboxes, preview links and the secrets of agents stay valid. Then it reads the copy again and compares the number of rows and a hash of every table. If anything fails, the target stays as it was. Counters of event ids and audit ids never go back. Refuses to leave live sandboxes behind that only this host can run. Prints the keys to change in the configuration.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --to @/etc/svc/database-url',
    '<%= config.bin %> <%= command.id %> --from /var/lib/svc/svc.db --to @/etc/svc/database-url --force --json',
    '<%= config.bin %> <%= command.id %> --from @/etc/svc/database-url --to /var/lib/svc/svc.db',
  ];
  static override flags = {
    from: Flags.string({
      description:
        'Database to copy: a file, a PostgreSQL URL, or @ and a file with the URL. Defaults to that of the configuration.',
      helpValue: PLACE_HELP,
    }),
    to: Flags.string({
      description: 'Target: a PostgreSQL URL, or @ and a file with the URL. From PostgreSQL: a file.',
      helpValue: PLACE_HELP,
      required: true,
    }),
    force: Flags.boolean({
      description: 'Replace the records of a target that has some. A replaced file is kept beside it.',
    }),
    config: configFlag,
  };

  async run() {
    const { flags } = await this.parse(DbCopy);
    const to = placeOf(flags.to);
    const from = placeFlag({ database: flags.from, config: flags.config });
    const { force } = flags;
    const program = this.config.version;
    const { clock } = thisOperator();
    const report = await this.watched(STAGE_WORDS, (watch) => {
      if (from.kind === 'file' && to.kind === 'url')
        return copyToPostgres({ file: from.path, ...to, force, program, ...watch }, clock);
      if (from.kind === 'url' && to.kind === 'file')
        return copyFromPostgres({ ...from, file: to.path, force, program, ...watch }, clock);
      throw new ServiceError(
        'bad_request',
        'One of --from and --to must be a file, the other a PostgreSQL URL.',
        {
          remedy: 'Copy files with `svc db backup`, and PostgreSQL databases with pg_dump and pg_restore.',
        },
      );
    });
    if (!report) return this.interrupted();
    this.log(copyText(report));
    return report;
  }
}
