// The five rows of the speed table that README.md shows: what people use otherwise.
import type { Results } from './report.ts';
import type { Row } from './row.ts';

const ROWS: readonly [id: string, job: string, other: string][] = [
  ['P27-run', 'a one-off command in a fresh container', '`docker run --rm`'],
  ['P7', 'a command in a container that runs, by the API', "the engine's exec API"],
  ['P3', 'a ready container and its first command', 'create, start and exec by the API'],
  ['P11-in', 'a folder of 1,000 files into a container', '`docker cp`'],
  ['P36', 'a one-off command without containers', '`srt` of npm'],
];

const BEGIN = '<!-- speed: written by npm run bench -->';
const END = '<!-- end of speed -->';

/** The text with its table renewed. Rows without a figure are left out; a text without the marks stays as it is. */
export function inReadme(text: string, { rows }: Pick<Results, 'rows'>): string {
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) return text;
  const lines = ROWS.flatMap(([id, job, other]) => {
    const row = rows.find((one) => one.id === id);
    return row?.baseline
      ? [`| ${job} | ${ms(row.ours.p50)} | ${other}: ${ms(row.baseline.p50)} | ${timesOf(row)} |`]
      : [];
  });
  const table = ['| | `svc` | otherwise | ratio |', '|---|---|---|---|', ...lines].join('\n');
  return `${text.slice(0, begin)}${BEGIN}\n\n${table}\n\n${text.slice(end)}`;
}

const ms = (value: number) => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
const timesOf = ({ ratio }: Row) => (ratio ?? 1).toFixed(2);
