// svc config lint
import { Flags } from '@oclif/core';
import {
  FOUND,
  LINT_FORMATS,
  type LintOptions,
  lintExit,
  lintNotice,
  lintOutput,
  lintReport,
  UNUSABLE,
} from '../../src/cli/fast-path/lint.ts';
import { line, print } from '../../src/cli/print.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { writeBaseline } from '../../src/ops/lint/baseline.ts';
import { sarifMaker } from '../../src/ops/sarif.ts';
import type { LintReport } from '../../src/schema/lint.ts';

export default class ConfigLint extends SvcCommand {
  static override summary = 'Check a configuration file without starting the server.';
  static override description =
    `Reads only the configuration files and the secret files that they name. Exits with ${FOUND} when it finds errors, with --strict also for warnings, and with ${UNUSABLE} when the file is not a configuration. docs/lint/ explains each rule.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> --file /etc/svc/svc.yaml --production',
    '<%= config.bin %> <%= command.id %> --production --strict --assume-env SVC_AUTH_API_KEY',
    '<%= config.bin %> <%= command.id %> --production --format sarif > svc.sarif',
    '<%= config.bin %> <%= command.id %> --production --write-baseline lint-baseline.json',
  ];
  static override flags = {
    file: Flags.string({
      description: 'File to check; defaults to ./svc.yaml over ~/.svc/config.yaml.',
      helpValue: '<file>',
    }),
    production: Flags.boolean({
      description: 'Apply the production rules.',
      default: false,
    }),
    strict: Flags.boolean({ description: 'Fail for warnings too.', default: false }),
    format: Flags.option({
      description: 'Format of the findings.',
      options: LINT_FORMATS,
      default: 'text' as const,
    })(),
    'assume-env': Flags.string({
      description: 'Secret that exists where the service runs, as its variable or key; repeatable.',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: '<secret>',
    }),
    baseline: Flags.string({
      description: 'File of known findings, which do not count.',
      helpValue: '<file>',
    }),
    'write-baseline': Flags.string({
      description: 'Write the findings as a baseline and exit with 0.',
      helpValue: '<file>',
      exclusive: ['baseline'],
    }),
  };

  async run() {
    const { flags } = await this.parse(ConfigLint);
    const { 'write-baseline': target, 'assume-env': assumed = [], ...rest } = flags;
    const options: LintOptions = { ...rest, assumed };
    const report = lintReport(options);
    if (target !== undefined && report.usable) {
      writeBaseline(report, target);
      this.log(line`${target} written with ${report.findings.length} findings`);
      return report;
    }
    this.#print(report, options);
    process.exitCode = lintExit(report, options);
    return report;
  }

  #print(report: LintReport, options: LintOptions): void {
    const text = lintOutput(report, options, sarifMaker(this.config.root, this.config.version));
    const isJson = options.format === 'json' || options.format === 'sarif';
    // With --json the report itself follows.
    if (isJson) print(text);
    else if (text !== '') this.log(text);
    const notice = lintNotice(report, options);
    if (notice !== undefined) this.logToStderr(notice);
  }
}
