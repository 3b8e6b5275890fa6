// svc config lint
import { Flags } from '@oclif/core';
import { lintSummary, lintText } from '../../src/cli/lint-view.ts';
import { SvcCommand } from '../../src/cli/svc-command.ts';
import { withBaseline, writeBaseline } from '../../src/ops/lint/baseline.ts';
import { githubAnnotations } from '../../src/ops/lint/github.ts';
import { lintConfig } from '../../src/ops/lint/lint.ts';
import { sarifLog } from '../../src/ops/lint/sarif.ts';
import type { LintReport } from '../../src/schema/lint.ts';

const FORMATS = ['text', 'json', 'sarif', 'github'] as const;
type Format = (typeof FORMATS)[number];

/** A check ran and found failures. */
const FOUND = 3;
const UNUSABLE = 2;

export default class ConfigLint extends SvcCommand<LintReport> {
  static override summary = 'Judge a configuration file without starting anything.';
  static override description =
    `Reads the file and the secret files it names, nothing else, and needs no engine. Exits with ${FOUND} when it finds errors, with --strict also for warnings, and with ${UNUSABLE} when the file is no configuration. docs/lint/ explains each rule.`;
  static override examples = [
    '<%= config.bin %> <%= command.id %> --file /etc/svc/svc.yaml --production',
    '<%= config.bin %> <%= command.id %> --production --strict --assume-env SVC_AUTH_API_KEY',
    '<%= config.bin %> <%= command.id %> --production --format sarif > svc.sarif',
    '<%= config.bin %> <%= command.id %> --production --write-baseline lint-baseline.json',
  ];
  static override flags = {
    file: Flags.string({ description: 'File to judge.', default: 'svc.yaml', helpValue: '<file>' }),
    production: Flags.boolean({
      description: 'Judge it for a service that strangers can reach.',
      default: false,
    }),
    strict: Flags.boolean({ description: 'Fail for warnings, too.', default: false }),
    format: Flags.option({
      description: 'How to print the findings.',
      options: FORMATS,
      default: 'text' as const,
    })(),
    'assume-env': Flags.string({
      description: 'A secret that is given where the service runs, as its variable or key; may be repeated.',
      multiple: true,
      multipleNonGreedy: true,
      helpValue: '<secret>',
    }),
    baseline: Flags.string({ description: 'Findings that are known and do not count.', helpValue: '<file>' }),
    'write-baseline': Flags.string({
      description: 'Write the findings as a baseline, and exit with 0.',
      helpValue: '<file>',
      exclusive: ['baseline'],
    }),
  };

  async run(): Promise<LintReport> {
    const { flags } = await this.parse(ConfigLint);
    const assumed = flags['assume-env'] ?? [];
    const found = lintConfig({ file: flags.file, cwd: process.cwd(), production: flags.production, assumed });
    const target = flags['write-baseline'];
    if (target !== undefined && found.usable) return this.#writeBaseline(found, target);
    const report = flags.baseline === undefined ? found : withBaseline(found, flags.baseline);
    this.#print(report, flags.format);
    if (!report.usable) process.exitCode = UNUSABLE;
    else if (report.errors > 0 || (flags.strict && report.warnings > 0)) process.exitCode = FOUND;
    return report;
  }

  #writeBaseline(report: LintReport, path: string): LintReport {
    writeBaseline(report, path);
    this.log(`${path} written with ${report.findings.length} findings`);
    return report;
  }

  #print(report: LintReport, format: Format): void {
    if (format === 'text') this.log(lintText(report));
    if (format === 'json') this.logJson(report);
    if (format === 'sarif') this.logJson(sarifLog(report, this.config.version));
    if (format === 'github') for (const line of githubAnnotations(report)) this.log(line);
    if (format === 'github') this.logToStderr(lintSummary(report));
  }
}
