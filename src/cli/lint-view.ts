// A lint report as text for people: by topic, each finding with its source line and remedy.
import { printable, printableJson } from '../domain/printable.ts';
import type { LintFinding, LintReport } from '../schema/lint.ts';
import { columnsOf } from './fit-columns.ts';
import { paintFor } from './paint.ts';
import { hanging, type Terminal } from './render.ts';

const LEVEL_WIDTH = 'warning'.length;

/** Ends with a line of counts. Findings of the baseline are counted but not shown. */
export function lintText(report: LintReport, stream: Terminal = process.stdout): string {
  const paint = paintFor(stream);
  const shown = report.findings.filter(({ known }) => !known);
  const hasOneFile = report.findings.every(({ file }) => file === report.file);
  const placeOf = ({ file, line, column }: LintFinding) =>
    hasOneFile ? `${line}:${column}` : printable(`${file}:${line}:${column}`);
  const places = Math.max(0, ...shown.map((finding) => placeOf(finding).length));
  const topics = [...new Set(shown.map(({ topic }) => topic))].map((topic) => {
    const blocks = shown
      .filter((finding) => finding.topic === topic)
      .map((finding) => block(finding, placeOf(finding).padEnd(places), { paint, stream }));
    return `${paint.bold(topic)}\n${blocks.join('\n')}\n`;
  });
  return [...topics, lintSummary(report)].join('\n');
}

/** A report as JSON. */
export const lintDocument = (value: unknown): string => printableJson(value, 2);

type Paint = ReturnType<typeof paintFor>;

const INDENT = 4;

function block(
  finding: LintFinding,
  place: string,
  { paint, stream }: { paint: Paint; stream: Terminal },
): string {
  const { rule, level, message, remedy } = finding;
  const colour = level === 'error' ? paint.red : paint.yellow;
  const start = `  ${level.padEnd(LEVEL_WIDTH)}  ${rule}  ${place}  `.length;
  const head = `  ${colour(level.padEnd(LEVEL_WIDTH))}  ${rule}  ${place}  ${hanging(message, start, stream)}`;
  const rest = [...excerpt(finding, paint), paint.dim(hanging(remedy, INDENT, stream))];
  return [head, ...rest.map((line) => ' '.repeat(INDENT) + line)].join('\n');
}

function excerpt({ line, column, end_column, source }: LintFinding, paint: Paint): string[] {
  if (source === undefined || end_column === undefined) return [];
  const number = String(line);
  const gap = ' '.repeat(number.length);
  const before = columnsOf(source.slice(0, column - 1));
  const marked = Math.max(1, columnsOf(source.slice(column - 1)));
  return [`${number} | ${source}`, `${gap} | ${' '.repeat(before)}${paint.bold('^'.repeat(marked))}`];
}

/** `svc.yaml, as production: 2 errors, 1 warning.` */
export function lintSummary({
  file,
  production,
  usable,
  errors,
  warnings,
  known,
  mended,
}: LintReport): string {
  const counts = [
    counted(errors, 'error'),
    counted(warnings, 'warning'),
    ...(known > 0 ? [`${known} known from the baseline`] : []),
    ...(mended > 0 ? [`${mended} of the baseline fixed: write the baseline again`] : []),
  ];
  const reading = production ? ', read as production' : '';
  const rest = usable ? '' : ' The service does not start with it.';
  return `${printable(file)}${reading}: ${counts.join(', ')}.${rest}`;
}

const counted = (count: number, noun: string) =>
  `${count === 0 ? 'no' : count} ${noun}${count === 1 ? '' : 's'}`;
