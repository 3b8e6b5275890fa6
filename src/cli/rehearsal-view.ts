// A rehearsed upgrade as text for people: its steps, then the instructions, or the problems.

import { printable } from '../domain/printable.ts';
import type { RehearsalReport, RehearsalStep } from '../schema/rehearsal.ts';
import { paintFor } from './paint.ts';
import { facts, table } from './render.ts';

const MOST_SHOWN = 12;

export function rehearsalText(report: RehearsalReport): string {
  const parts = [
    facts([
      ['database', report.database],
      ['program version', report.program_version],
      ['schema', `${report.from_version ?? 'unknown'} → ${report.to_version}`],
      ['backup', report.backup?.output ?? report.dump?.output],
      ['sha256', report.backup?.sha256 ?? report.dump?.sha256],
    ]),
    stepTable(report.steps),
    ...report.steps.filter(({ problems }) => problems.length > 0).map(problemsText),
    ...(report.ok ? [numbered('Upgrade', report.upgrade), numbered('Rollback', report.way_back)] : []),
    verdict(report),
  ];
  return parts.join('\n\n');
}

function stepTable(steps: readonly RehearsalStep[]): string {
  return table(steps, [
    { title: 'status', value: ({ status }) => status },
    { title: 'step', value: ({ title }) => title },
    { title: 'result', value: ({ result }) => result },
    { title: 'took', value: ({ duration_ms }) => `${duration_ms} ms`, align: 'right' },
  ]);
}

function problemsText({ title, problems }: RehearsalStep): string {
  const shown = problems.slice(0, MOST_SHOWN).map((problem) => `  - ${printable(problem)}`);
  const more = problems.length - shown.length;
  return [`${printable(title)}:`, ...shown, ...(more > 0 ? [`  … and ${more} more: see --json`] : [])].join(
    '\n',
  );
}

function numbered(title: string, lines: readonly string[]): string {
  return [
    `${paintFor(process.stdout).bold(title)}`,
    ...lines.map((line, at) => `  ${at + 1}. ${printable(line)}`),
  ].join('\n');
}

function verdict({ ok }: RehearsalReport): string {
  const paint = paintFor(process.stdout);
  return ok
    ? paint.green('The upgrade of the copy succeeded. The database was not changed.')
    : paint.red('The upgrade of the copy failed. The database was not changed; do not upgrade.');
}
