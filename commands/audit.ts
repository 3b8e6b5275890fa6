// svc audit
import { Flags } from '@oclif/core';
import { auditCsvPages, auditFilter, auditRecords, auditTable } from '../src/cli/audit.ts';
import { ClientCommand } from '../src/cli/client-command.ts';
import { clientFlags } from '../src/cli/connection.ts';
import type { AuditRecord } from '../src/schema/audit.ts';

export default class Audit extends ClientCommand {
  static override summary = 'List changes and admin calls, newest first, including refused ones.';
  static override description = 'Needs the admin key where one is configured. Pass it as the API key.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --since 24h --status 403',
    '<%= config.bin %> <%= command.id %> --target sb-0123456789ab',
    '<%= config.bin %> <%= command.id %> --actor key:ci --method DELETE --json',
    '<%= config.bin %> <%= command.id %> --since 720h --limit 100000 --csv > audit.csv',
  ];
  static override flags = {
    ...clientFlags,
    actor: Flags.string({ description: 'Only this actor, such as key:ci or admin:X-Admin-API-Key.' }),
    target: Flags.string({
      description: 'Only calls about this sandbox, template, key, owner or worker.',
      helpValue: '<id>',
    }),
    method: Flags.string({ description: 'Only this method.' }),
    status: Flags.integer({ description: 'Only this status.', min: 100, max: 599 }),
    path: Flags.string({ description: 'Only paths that contain this text.' }),
    since: Flags.string({ description: 'From this time on; 24h means a day ago.', helpValue: '<moment>' }),
    until: Flags.string({ description: 'Before this time.', helpValue: '<moment>' }),
    limit: Flags.integer({ description: 'Maximum number of records.', min: 1, max: 100_000, default: 100 }),
    csv: Flags.boolean({ description: 'Print CSV with formulas escaped.', exclusive: ['json'] }),
  };

  async run(): Promise<AuditRecord[] | undefined> {
    const { flags } = await this.parse(Audit);
    const { admin } = this.connect(flags);
    const filter = auditFilter(flags, Date.now());
    if (flags.csv) {
      for await (const page of auditCsvPages(admin, filter, flags.limit)) process.stdout.write(page);
      return undefined;
    }
    return this.show(await auditRecords(admin, filter, flags.limit), auditTable);
  }
}
