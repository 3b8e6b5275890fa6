// svc doctor
import { Flags } from '@oclif/core';
import { doctorHere } from '../src/app/doctor.ts';
import { runChecks } from '../src/cli/check-progress.ts';
import { configFlag } from '../src/cli/config-flag.ts';
import { doctorText, findingsText } from '../src/cli/doctor-view.ts';
import { INTERRUPTED, interruptible } from '../src/cli/interruption.ts';
import { print } from '../src/cli/print.ts';
import { SvcCommand } from '../src/cli/svc-command.ts';
import { printableJson } from '../src/domain/printable.ts';
import { planDoctor } from '../src/ops/doctor/doctor.ts';
import { doctorSarif } from '../src/ops/doctor/sarif.ts';
import { sarifMaker } from '../src/ops/sarif.ts';
import type { DoctorReport } from '../src/schema/doctor.ts';

/** A check ran and found failures. */
const FOUND = 3;

const checks = (description: string) =>
  Flags.string({ description, multiple: true, multipleNonGreedy: true, helpValue: '<check>' });

interface DoctorFlags {
  config?: string | undefined;
  production: boolean;
  probe: boolean;
  only?: string[] | undefined;
  skip?: string[] | undefined;
}

export default class Doctor extends SvcCommand {
  static override summary = 'Check this machine for everything that the service needs.';
  static override description =
    `Each check runs against the live host and reports its duration. It leaves nothing behind and can run beside the service. Findings are printed first and again at the end. Exits with ${FOUND} when a check fails or the configuration cannot be read; with --strict also for warnings.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --config /etc/svc/svc.yaml --production --strict',
    '<%= config.bin %> <%= command.id %> --probe --skip container --skip probe_container',
    '<%= config.bin %> <%= command.id %> --only database --json',
    '<%= config.bin %> <%= command.id %> --production --quiet',
    '<%= config.bin %> <%= command.id %> --format sarif > doctor.sarif',
  ];
  static override flags = {
    config: configFlag,
    production: Flags.boolean({
      description: 'Apply the production rules.',
      default: false,
    }),
    strict: Flags.boolean({ description: 'Fail for warnings too.', default: false }),
    quiet: Flags.boolean({
      description: 'Print findings only.',
      char: 'q',
      default: false,
    }),
    format: Flags.option({
      description: 'Format of the report.',
      options: ['text', 'sarif'] as const,
      default: 'text' as const,
    })(),
    probe: Flags.boolean({
      description: 'Run a sandbox on each enabled provider and check that nothing is left behind.',
      default: false,
    }),
    only: checks('Group or check to run, such as database or database.space; repeatable.'),
    skip: checks('Group or check to skip; repeatable.'),
  };

  async run() {
    const { flags } = await this.parse(Doctor);
    const report = await interruptible(
      (signal) => this.#examine(flags, signal),
      () => process.exit(INTERRUPTED),
    );
    this.#print(report, flags);
    const failed = report.verdict === 'fail' || (flags.strict && report.verdict === 'warn');
    if (failed) process.exitCode ??= FOUND;
    return report;
  }

  #print(report: DoctorReport, { quiet, format }: { quiet: boolean; format: 'text' | 'sarif' }): void {
    if (format === 'sarif') {
      // With --json the report itself follows.
      print(printableJson(doctorSarif(report, sarifMaker(this.config.root, this.config.version)), 2));
      return;
    }
    const text = quiet ? findingsText(report) : doctorText(report);
    if (text !== '') this.log(text);
  }

  /** An interruption ends the running check; the report then covers the checks so far. */
  async #examine(flags: DoctorFlags, signal: AbortSignal): Promise<DoctorReport> {
    const { config: file, production, probe, only = [], skip = [] } = flags;
    const plan = planDoctor(doctorHere({ file, production, signal }), { only, skip, probe });
    await runChecks(plan.groups, process.stdout.isTTY === true && !this.jsonEnabled());
    if (signal.aborted) process.exitCode = INTERRUPTED;
    return plan.finish();
  }
}
