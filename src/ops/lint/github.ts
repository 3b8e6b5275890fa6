// A lint report as workflow commands of GitHub Actions, which show findings beside the lines of a change.
import type { LintReport } from '../../schema/lint.ts';

/** One line for each finding that counts. Nothing of a finding can begin a command of its own. */
export function githubAnnotations({ findings }: LintReport): string[] {
  return findings
    .filter(({ known }) => !known)
    .map(({ rule, level, message, remedy, file, line, column, end_column }) => {
      const place = {
        file,
        line,
        col: column,
        ...(end_column !== undefined && { endColumn: end_column }),
        title: rule,
      };
      const properties = Object.entries(place).map(([name, value]) => `${name}=${property(String(value))}`);
      return `::${level} ${properties.join(',')}::${escaped(`${message} ${remedy}`)}`;
    });
}

const escaped = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string) => escaped(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
