// svc db verify
import { Args } from '@oclif/core';
import { thisOperator } from '../../src/app/operator.ts';
import { fileOf } from '../../src/cli/config-flags.ts';
import { verifyText } from '../../src/cli/db-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { verifyBackup } from '../../src/ops/db/inspect.ts';

/** A check ran and found failures. */
const FOUND = 3;

export default class DbVerify extends SvcCommand {
  static override summary = 'Check the integrity of a database or backup.';
  static override description =
    `Checks pages, indexes, references, schema, counters and rows. Of a dump that pg_dump wrote in its custom format, checks that pg_restore reads it to the end and that it is a database of this service. Exits with ${FOUND} when a check fails. Does not change the file, which may be in use.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> /var/backups/svc.db',
    '<%= config.bin %> <%= command.id %> /var/lib/svc/svc.db --json',
    '<%= config.bin %> <%= command.id %> svc.dump',
  ];
  static override args = {
    file: Args.string({ description: 'Database or backup.', required: true }),
  };

  async run() {
    const { args } = await this.parse(DbVerify);
    const report = await withLocalErrors(verifyBackup(fileOf(args.file, 'verify'), thisOperator()));
    this.log(verifyText(report));
    if (!report.ok) process.exitCode = FOUND;
    return report;
  }
}
