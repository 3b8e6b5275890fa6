// svc db inspect
import { Args } from '@oclif/core';
import { thisOperator } from '../../src/app/operator.ts';
import { placeFlag, placeFlags } from '../../src/cli/config-flags.ts';
import { inspectText, postgresText } from '../../src/cli/db-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { inspectFile } from '../../src/ops/db/inspect.ts';
import { inspectPostgres } from '../../src/ops/db/inspect-postgres.ts';

export default class DbInspect extends SvcCommand {
  static override summary = 'Show the version, instance and row counts of a database or backup.';
  static override description =
    'Does not change the database, which may be in use. Does not check it; see `svc db verify`. For PostgreSQL it also shows the hosts, the servers that use the database and their roles.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> /var/backups/svc.db',
    '<%= config.bin %> <%= command.id %> /var/lib/svc/svc.db --json',
    '<%= config.bin %> <%= command.id %> --database @/etc/svc/database-url',
  ];
  static override args = {
    file: Args.string({ description: 'Database or backup; defaults to the database of the configuration.' }),
  };
  static override flags = placeFlags;

  async run() {
    const { args, flags } = await this.parse(DbInspect);
    const place = placeFlag({ ...flags, database: args.file ?? flags.database });
    if (place.kind === 'file') return this.show(await withLocalErrors(inspectFile(place.path)), inspectText);
    return this.show(await inspectPostgres(place.url, thisOperator().clock), postgresText);
  }
}
