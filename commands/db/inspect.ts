// svc db inspect
import { Args } from '@oclif/core';
import { fileOf } from '../../src/cli/config-flags.ts';
import { inspectText } from '../../src/cli/db-view.ts';
import { withLocalErrors } from '../../src/cli/local-failure.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { inspectFile } from '../../src/ops/db/inspect.ts';

export default class DbInspect extends SvcCommand {
  static override summary = 'Show the version, instance and row counts of a database or backup.';
  static override description =
    'Does not change the file, which may be in use. Does not check it; see `svc db verify`.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> /var/backups/svc.db',
    '<%= config.bin %> <%= command.id %> /var/lib/svc/svc.db --json',
  ];
  static override args = {
    file: Args.string({ description: 'Database or backup.', required: true }),
  };

  async run() {
    const { args } = await this.parse(DbInspect);
    return this.show(await withLocalErrors(inspectFile(fileOf(args.file, 'inspect'))), inspectText);
  }
}
