// svc upgrade rehearse
import { Flags } from '@oclif/core';
import { thisOperator } from '../../src/app/operator.ts';
import { placeFlag, placeFlags } from '../../src/cli/config-flags.ts';
import { type DatabasePlace, placeOf } from '../../src/cli/database-place.ts';
import { STAGE_WORDS } from '../../src/cli/db-view.ts';
import { OperatorCommand } from '../../src/cli/operator-command.ts';
import { rehearsalText } from '../../src/cli/rehearsal-view.ts';
import { processConfigFiles } from '../../src/config/process-config.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { judgeConfiguration } from '../../src/ops/lint/lint.ts';
import { rehearseUpgrade } from '../../src/ops/upgrade/rehearse.ts';
import { rehearsePostgres } from '../../src/ops/upgrade/rehearse-postgres.ts';
import type { DoctorReport } from '../../src/schema/doctor.ts';
import type { LintReport } from '../../src/schema/lint.ts';

/** A check ran and found failures. */
const FOUND = 3;

export default class UpgradeRehearse extends OperatorCommand {
  static override summary = 'Rehearse an upgrade to this version on a copy of the database.';
  static override description =
    `Copies the database, which may be in use and is not changed. Runs the migrations of this version on the copy, checks it, compares the rows and reads every record. Checks the configuration against the production rules, and names templates whose images are not on this machine. A PostgreSQL database is copied with pg_dump and pg_restore, which must be on this host, into a scratch database. Keeps the verified backup at --backup-output and prints the steps of the upgrade and of a rollback. Exits with ${FOUND} when a step fails; with --strict also for warnings.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> --config /etc/svc/svc.yaml --database /var/lib/svc/svc.db --backup-output /var/backups/before-upgrade.db',
    '<%= config.bin %> <%= command.id %> --backup-output before.db --force --json',
  ];
  static override flags = {
    ...placeFlags,
    'backup-output': Flags.string({
      description: 'File for the verified backup.',
      required: true,
      helpValue: '<file>',
    }),
    scratch: Flags.string({
      description:
        'Empty PostgreSQL database for the rehearsal: a URL, or @ and a file with the URL. Without it one is created on the server of the database and dropped, which needs the right CREATEDB.',
      helpValue: '<url|@file>',
    }),
    'include-doctor': Flags.boolean({ description: 'Include the checks of `svc doctor`.' }),
    force: Flags.boolean({ description: 'Replace an existing backup.' }),
    strict: Flags.boolean({ description: 'Fail for warnings too.' }),
  };

  async run() {
    const { flags } = await this.parse(UpgradeRehearse);
    const place = placeFlag(flags);
    const request = {
      backupOutput: flags['backup-output'],
      force: flags.force,
      programVersion: this.config.version,
      ...(flags['include-doctor']
        ? { doctor: () => examined(flags.config) }
        : { templates: () => templates(flags.config, place) }),
      ...judged(flags.config),
    };
    const scratch = flags.scratch === undefined ? undefined : scratchOf(flags.scratch);
    const report = await this.watched(STAGE_WORDS, (watch) =>
      place.kind === 'file'
        ? rehearseUpgrade({ ...request, ...watch, database: place.path }, thisOperator())
        : rehearsePostgres({ ...request, ...watch, url: place.url, scratchUrl: scratch }, thisOperator()),
    );
    if (!report) return this.interrupted();
    this.log(rehearsalText(report));
    const isWarned = report.steps.some(({ status }) => status === 'warn');
    if (!report.ok || (flags.strict && isWarned)) process.exitCode = FOUND;
    return report;
  }
}

function scratchOf(flag: string): string {
  const place = placeOf(flag);
  if (place.kind === 'url') return place.url;
  throw new ServiceError('bad_request', '--scratch is not the URL of a PostgreSQL database.', {
    remedy: 'Write it as postgres://user:password@host:5432/name, or as @ and a file with the URL.',
  });
}

/** Loaded on demand, because it loads every provider. */
const examined = async (file: string | undefined) =>
  (await import('../../src/app/doctor-report.ts')).doctorReport(file);

async function templates(file: string | undefined, place: DatabasePlace): Promise<DoctorReport> {
  const database = place.kind === 'file' ? { path: place.path } : { url: place.url };
  return (await import('../../src/app/doctor-report.ts')).templateReport(file, database);
}

/** Lints the named file, or the files that the service would read here; empty if there are none. */
function judged(named: string | undefined): { lint?: LintReport } {
  const here = { cwd: process.cwd(), env: process.env };
  const given = named ?? (process.env.SVC_CONFIG || undefined);
  const files = given === undefined ? processConfigFiles() : [given];
  return files.length === 0 ? {} : { lint: judgeConfiguration({ files, ...here }) };
}
