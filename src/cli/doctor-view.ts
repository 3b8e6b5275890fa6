// A doctor's report as text for people: the findings, then every check by group with its duration, then the findings again,
// where the eye rests on a terminal.
import { printable } from '../domain/printable.ts';
import type { CheckResult, DoctorReport, GroupResult, Verdict } from '../schema/doctor.ts';
import { columnsOf } from './fit-columns.ts';
import { paintFor } from './paint.ts';
import { hanging } from './render.ts';

const VERDICT_WIDTH = 4;
const TIME_WIDTH = 9;

type Paint = ReturnType<typeof paintFor>;

/** Ends with a line that sums up. */
export function doctorText(
  report: DoctorReport,
  stream: { isTTY?: boolean; columns?: number } = process.stdout,
): string {
  const paint = paintFor(stream);
  const looked = report.groups.flatMap(({ checks }) => checks.filter(({ verdict }) => verdict !== 'skip'));
  const width = Math.max(0, ...looked.map(({ title }) => columnsOf(printable(title))));
  const groups = report.groups.map((group) => groupText(group, width, { paint, stream }));
  const wrong = findingsText(report, stream);
  const around = wrong === '' ? [] : [`${wrong}\n`];
  return [...around, ...groups, ...around, summary(report, paint)].join('\n');
}

/** Failures, then warnings. */
export function doctorFindings({ groups }: DoctorReport): readonly CheckResult[] {
  const all = groups.flatMap(({ checks }) => checks);
  return (['fail', 'warn'] as const).flatMap((verdict) => all.filter((check) => check.verdict === verdict));
}

/** The findings as text, each with its fix on a second line; empty without findings. */
export function findingsText(
  report: DoctorReport,
  stream: { isTTY?: boolean; columns?: number } = process.stdout,
): string {
  const paint = paintFor(stream);
  const indent = VERDICT_WIDTH + 2;
  return doctorFindings(report)
    .flatMap(({ id, verdict, message, fix }) => [
      `${coloured(verdict, paint)}  ${paint.bold(printable(id))}  ${hanging(printable(message), indent + columnsOf(id) + 2, stream)}`,
      ...(fix === undefined ? [] : [fixLine(fix, indent, { paint, stream })]),
    ])
    .join('\n');
}

interface Output {
  paint: Paint;
  stream: { isTTY?: boolean; columns?: number };
}

/** Checks that were skipped share one line, at the end. */
function groupText({ title, verdict, ms, checks }: GroupResult, width: number, output: Output): string {
  const { paint, stream } = output;
  const head = `${coloured(verdict, paint)}  ${timeText(ms)}  ${paint.bold(printable(title))}`;
  const looked = checks.filter((check) => check.verdict !== 'skip');
  const left = checks.filter((check) => check.verdict === 'skip');
  const reasons = [...new Set(left.map(({ message }) => printable(message)))].join(' ');
  if (looked.length === 0) return `${head}: ${paint.dim(reasons)}\n`;
  const names = left.map((check) => printable(check.title)).join(', ');
  const rest = hanging(`${names}: ${reasons}`, VERDICT_WIDTH + 4, stream);
  const skipped = left.length === 0 ? [] : [`  ${coloured('skip', paint)}  ${rest}`];
  return [head, ...looked.flatMap((check) => checkLines(check, width, output)), ...skipped, ''].join('\n');
}

function checkLines(
  { title, verdict, ms, message, fix }: CheckResult,
  width: number,
  { paint, stream }: Output,
): string[] {
  const indent = VERDICT_WIDTH + TIME_WIDTH + width + 8;
  const shown = printable(title);
  const name = shown + ' '.repeat(width - columnsOf(shown));
  return [
    `  ${coloured(verdict, paint)}  ${timeText(ms)}  ${name}  ${hanging(printable(message), indent, stream)}`,
    ...(fix === undefined ? [] : [fixLine(fix, indent, { paint, stream })]),
  ];
}

/** On a narrow terminal it begins further left, so that it does not become a column of single words. */
function fixLine(fix: string, indent: number, { paint, stream }: Output): string {
  const text = hanging(`fix: ${printable(fix)}`, indent, stream).replace(/^\n {2}/, '');
  return `${text.startsWith(' ') ? '' : ' '.repeat(indent)}${text.replace('fix:', paint.bold('fix:'))}`;
}

const timeText = (ms: number) => `${ms.toFixed(1)} ms`.padStart(TIME_WIDTH);

function coloured(verdict: Verdict, paint: Paint): string {
  const colours = { pass: paint.green, warn: paint.yellow, fail: paint.red, skip: paint.dim };
  return colours[verdict](verdict.padEnd(VERDICT_WIDTH));
}

function summary({ verdict, production, groups, ms }: DoctorReport, paint: Paint): string {
  const all = groups.flatMap(({ checks }) => checks);
  const count = (wanted: Verdict) => all.filter((check) => check.verdict === wanted).length;
  const counts = (['pass', 'warn', 'fail', 'skip'] as const)
    .map((each) => `${count(each)} ${each}`)
    .join(', ');
  const reading = production ? ' for production' : '';
  return `${coloured(verdict, paint)}  ${timeText(ms)}  ${all.length} checks${reading}: ${counts}`;
}
