// The configuration file as `svc config lint --production` judges it, without the lines of the file.
import { givenPath } from '../../../config/config-file.ts';
import type { LintReport } from '../../../schema/lint.ts';
import { judgeConfiguration } from '../../upgrade/configuration.ts';
import type { Section } from '../sources.ts';

export const LINT: Section = {
  id: 'lint',
  title: 'The lint report of the configuration file for production',
  skipped: ({ reading }) => (reading.files.length === 0 ? 'no configuration file is in use' : undefined),
  collect: async ({ reading, cwd, env }) =>
    withoutLines(judgeConfiguration({ files: reading.files.map(givenPath), cwd, env })),
};

function withoutLines(report: LintReport): object {
  const findings = report.findings.map(({ source: _, ...finding }) => finding);
  return { ...report, findings };
}
