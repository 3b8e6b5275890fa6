// How a doctor's report is shown to people: groups as a tree, each check with its time, what was seen, and what to do.
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
  const titles = report.groups.flatMap(({ checks }) =>
    checks.map(({ title }) => columnsOf(printable(title))),
  );
  const width = Math.max(0, ...titles);
  const groups = report.groups.map((group) => groupText(group, width, paint));
  return [...groups, summary(report, paint)].join('\n');
}

function groupText({ title, verdict, ms, checks }: GroupResult, width: number, paint: Paint): string {
  const head = `${coloured(verdict, paint)}  ${timeText(ms)}  ${paint.bold(printable(title))}`;
  return [head, ...checks.flatMap((check) => checkLines(check, width, paint)), ''].join('\n');
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
