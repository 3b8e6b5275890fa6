// How a doctor's report is shown to people: what is wrong and what to do, then every check by group with its time, and at
// the end, where a terminal stands, what is wrong once more.
import { printable } from '../domain/printable.ts';
import type { CheckResult, DoctorReport, GroupResult, Verdict } from '../schema/doctor.ts';
import { columnsOf } from './columns.ts';
import { paintFor } from './paint.ts';

const VERDICT_WIDTH = 4;
const TIME_WIDTH = 9;

type Paint = ReturnType<typeof paintFor>;

/** Ends with a line that sums up. */
export function doctorText(report: DoctorReport, stream: { isTTY?: boolean } = process.stdout): string {
  const paint = paintFor(stream);
  const looked = report.groups.flatMap(({ checks }) => checks.filter(({ verdict }) => verdict !== 'skip'));
  const width = Math.max(0, ...looked.map(({ title }) => columnsOf(printable(title))));
  const groups = report.groups.map((group) => groupText(group, width, paint));
  const wrong = findingsText(report, stream);
  const around = wrong === '' ? [] : [`${wrong}\n`];
  return [...around, ...groups, ...around, summary(report, paint)].join('\n');
}

/** What failed, then what is warned of, each with what to do; empty when nothing is. */
export function doctorFindings({ groups }: DoctorReport): readonly CheckResult[] {
  const all = groups.flatMap(({ checks }) => checks);
  return (['fail', 'warn'] as const).flatMap((verdict) => all.filter((check) => check.verdict === verdict));
}

/** `doctorFindings` for people, a line for each and one for what to do; empty when there are none. */
export function findingsText(report: DoctorReport, stream: { isTTY?: boolean } = process.stdout): string {
  const paint = paintFor(stream);
  const indent = ' '.repeat(VERDICT_WIDTH + 2);
  return doctorFindings(report)
    .flatMap(({ id, verdict, message, fix }) => [
      `${coloured(verdict, paint)}  ${paint.bold(printable(id))}  ${printable(message)}`,
      ...(fix === undefined ? [] : [`${indent}${paint.bold('fix:')} ${printable(fix)}`]),
    ])
    .join('\n');
}

/** What was not looked at is one line, at the end. */
function groupText({ title, verdict, ms, checks }: GroupResult, width: number, paint: Paint): string {
  const head = `${coloured(verdict, paint)}  ${timeText(ms)}  ${paint.bold(printable(title))}`;
  const looked = checks.filter((check) => check.verdict !== 'skip');
  const left = checks.filter((check) => check.verdict === 'skip');
  const reasons = [...new Set(left.map(({ message }) => printable(message)))].join(' ');
  if (looked.length === 0) return `${head}: ${paint.dim(reasons)}\n`;
  const names = left.map((check) => printable(check.title)).join(', ');
  const rest = left.length === 0 ? [] : [`  ${coloured('skip', paint)}  ${names}: ${paint.dim(reasons)}`];
  return [head, ...looked.flatMap((check) => checkLines(check, width, paint)), ...rest, ''].join('\n');
}

function checkLines(
  { title, verdict, ms, message, fix }: CheckResult,
  width: number,
  paint: Paint,
): string[] {
  const indent = ' '.repeat(VERDICT_WIDTH + TIME_WIDTH + width + 8);
  const shown = printable(title);
  const name = shown + ' '.repeat(width - columnsOf(shown));
  return [
    `  ${coloured(verdict, paint)}  ${timeText(ms)}  ${name}  ${printable(message)}`,
    ...(fix === undefined ? [] : [`${indent}${paint.bold('fix:')} ${printable(fix)}`]),
  ];
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
