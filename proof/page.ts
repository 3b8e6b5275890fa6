// docs/reliability.md, made of proof/results.json alone: the same results give the same bytes.
import { upperBound } from './bound.ts';
import { KIND_NAMES, KINDS, type Kind, type KindName } from './kinds.ts';
import type { ProofResults, ProofRow } from './results.ts';

const HEAD = `# Reliability

How we try to break the service, and what we found. Each table counts trials and failures. No failure in N trials does not
mean that there is none: "rate below" is the failure rate that 95 % confidence excludes, 3/N after N trials without a failure.
So a small number of trials gives a high bound, even when none of them failed.

What the columns mean for you:

- **rows lost**: a sandbox that the service acknowledged is missing from its database.
- **runtimes leaked**: a container, process or virtual machine still runs, and nothing manages it.
- **double spawns**: one request started two sandboxes.
- **over-admissions**: more sandboxes ran than a limit allows.
- **other failures**: anything else that was not settled after the fault, such as a lock or a folder that was left.

The command above each table repeats its trials. They need root on a machine of their own and, for containers, Docker. Seeds
are printed; \`--seed\` repeats one. Dates are those of the run.
`;

export function reliabilityPage(results: ProofResults): string {
  const parts = KIND_NAMES.map((name) => section(KINDS[name], results[name]));
  return `${[HEAD.trimEnd(), summary(results), ...parts].join('\n\n')}\n`;
}

/** One line a kind. */
function summary(results: ProofResults): string {
  const lines = KIND_NAMES.map((name: KindName) => {
    const kind: Kind = KINDS[name];
    const { trials, found } = totalOf(kind, results[name]);
    return [kind.title, `${number(trials)} ${kind.trials}`, ...judged(found, trials)];
  });
  return table(['', 'trials', 'failures', 'rate below'], lines);
}

function section(kind: Kind, rows: readonly ProofRow[]): string {
  const head = `## ${kind.title}\n\n${kind.about} Run it with \`${kind.command}\`.`;
  if (rows.length === 0) return `${head}\n\nNot run yet.`;
  const [faults, facts] = [Object.keys(kind.faults), Object.keys(kind.facts)].map((keys) =>
    inUse(keys, rows),
  );
  const columns = [...(facts ?? []), ...(faults ?? [])];
  const titles = columns.map((key) => kind.facts[key] ?? kind.faults[key] ?? key);
  const lines = rows.map(({ name, day, counts }) => {
    const { trials, found } = totalOf(kind, [{ name, day, counts }]);
    const cells = columns.map((key) => (counts[key] === undefined ? '—' : number(counts[key])));
    return [name, number(trials), ...cells, judged(found, trials)[1] ?? '', day];
  });
  const parts = [head, table(['', kind.trials, ...titles, 'rate below', 'on'], lines), notReached(rows)];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** Steps that nothing passed, a line for each row that has some. */
function notReached(rows: readonly ProofRow[]): string {
  const lines = rows.flatMap(({ name, not_reached: steps = [] }) =>
    steps.length > 0 ? [`- ${name}: ${steps.map((step) => `\`${step}\``).join(', ')}`] : [],
  );
  return lines.length > 0
    ? `These runs did not reach the following steps, so nothing was tested there:\n\n${lines.join('\n')}`
    : '';
}

/** Columns that some row has. */
const inUse = (keys: readonly string[], rows: readonly ProofRow[]) =>
  keys.filter((key) => rows.some(({ counts }) => counts[key] !== undefined));

function totalOf(kind: Kind, rows: readonly ProofRow[]): { trials: number; found: number } {
  const sum = (keys: readonly string[]) =>
    rows.reduce((all, { counts }) => keys.reduce((part, key) => part + (counts[key] ?? 0), all), 0);
  return { trials: sum(['trials']), found: sum(Object.keys(kind.faults)) };
}

/** The count of what must not be, and the bound that it implies. */
function judged(found: number, trials: number): [string, string] {
  if (trials === 0) return ['—', '—'];
  const percent = 100 * upperBound(found, trials);
  return [number(found), `${Number(percent.toPrecision(2))} %`];
}

/** Formats a number with separators between thousands; measures have at most two decimals. */
function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
}
