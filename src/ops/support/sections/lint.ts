// The configuration file as `svc config lint --production` judges it, without the lines of the file.
import type { LintReport } from '../../../schema/lint.ts';
import { judgeConfiguration } from '../../upgrade/configuration.ts';
import type { Section } from '../world.ts';

export const LINT: Section = {
  id: 'lint',
  title: 'The configuration file, judged for production',
  skipped: ({ reading }) => (reading.file === undefined ? 'there is no configuration file' : undefined),
  collect: async ({ reading, cwd, env }) =>
    withoutLines(judgeConfiguration({ file: reading.file ?? '', cwd, env })),
};

function withoutLines(report: LintReport): object {
  const findings = report.findings.map(({ source: _, ...finding }) => finding);
  return { ...report, findings };
}
