// The campaign of faults in a fleet: rounds in the order of a seed, on one fleet that lives through all of it. A line for each
// fault, and its counts in proof/results.json. What earlier runs of it counted is kept: it goes on where it was interrupted.
import { join } from 'node:path';
import { packageRoot } from '../../src/host/package-root.ts';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import type { Counts } from '../kinds.ts';
import { readResults, record } from '../results.ts';
import { FAULTS, type FaultName } from './faults.ts';
import { Ground } from './ground.ts';
import { type Findings, type Outcome, tryFault } from './round.ts';

export interface ReplicasOptions {
  /** How often each fault comes, earlier runs included. */
  runs: number;
  /** No fault begins later. */
  minutes: number;
  seed: number;
  signal?: AbortSignal;
  /** Limits it to faults whose names contain one of these. */
  filters?: readonly string[];
  told: (line: string) => void;
  /** Counts go into proof/results.json. */
  isKept: boolean;
}

type Row = Counts<'replicas'>;
const KINDS = [
  ...[
    'rows_lost',
    'runtimes_leaked',
    'double_spawns',
    'over_admissions',
    'events_wrong',
    'noticed',
    'unsettled',
  ],
] as (keyof Findings)[];

/** The number of faults after which something was wrong. */
export async function replicasCampaign(options: ReplicasOptions): Promise<number> {
  const { runs, minutes, seed, signal, filters = [''], told, isKept } = options;
  let ground = new Ground();
  const counts = new Map<FaultName, Row>(isKept ? counted() : []);
  const deadline = performance.now() + minutes * 60_000;
  let found = 0;
  try {
    await ground.start();
    for (let run = 0; run < runs; run++)
      for (const fault of ordered(seed + run)) {
        if (!filters.some((words) => fault.includes(words))) continue;
        const row = counts.get(fault) ?? none();
        if (row.trials > run || performance.now() > deadline || signal?.aborted) continue;
        const outcome = await tryFault(ground, fault, seed + 100 * run).catch((error: unknown) =>
          undone(fault, error),
        );
        told(`${run + 1} ${fault}: ${sentence(outcome)}`);
        counts.set(fault, add(row, outcome));
        if (isBroken(outcome)) found++;
        if (isKept) record('replicas', { name: fault, counts: add(row, outcome) });
        // What is left of a trial that did not come to its end would be found in the next one.
        if (!isBroken(outcome)) continue;
        ground.keepLogs(join(packageRoot(), '.cache', `fleet-${run + 1}-${fault}`));
        await ground.stop();
        ground = new Ground();
        await ground.start();
      }
  } finally {
    await ground.stop();
  }
  return found;
}

/** Of a trial that did not come to its end. */
function undone(fault: FaultName, error: unknown): Outcome {
  const none = Object.fromEntries(KINDS.map((kind) => [kind, [] as string[]])) as unknown as Findings;
  return { fault, calls: 0, ...none, unsettled: [String(error)] };
}

/** All faults in an order of the seed. */
export function ordered(seed: number): FaultName[] {
  const random = seededRandom(seed);
  return [...FAULTS.keys()]
    .map((name) => ({ name, at: random.bytes(4).readUInt32LE() }))
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name);
}

export const findingsOf = (outcome: Outcome): Findings =>
  Object.fromEntries(KINDS.map((kind) => [kind, outcome[kind]])) as unknown as Findings;

const isBroken = (outcome: Outcome) => KINDS.some((kind) => outcome[kind].length > 0);

const counted = (): [FaultName, Row][] =>
  readResults().replicas.map(({ name, counts }) => [name as FaultName, counts as Row]);

function none(): Row {
  const zero = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<keyof Findings, number>;
  return { trials: 0, survived: 0, calls: 0, ...zero };
}

function add(row: Row, outcome: Outcome): Row {
  const sums = KINDS.map((kind) => [kind, row[kind] + (outcome[kind].length > 0 ? 1 : 0)]);
  const survived = (row.survived ?? 0) + (isBroken(outcome) ? 0 : 1);
  return {
    ...row,
    ...Object.fromEntries(sums),
    trials: row.trials + 1,
    survived,
    calls: (row.calls ?? 0) + outcome.calls,
    ...measured(row, outcome),
  };
}

/** The slowest of all. */
function measured({ failovers = 0, failover_ms = 0, outage_ms = 0 }: Row, { failover, outage }: Outcome) {
  return {
    ...(failover !== undefined && {
      failovers: failovers + 1,
      failover_ms: Math.max(failover_ms, failover),
    }),
    ...(outage !== undefined && { outage_ms: Math.max(outage_ms, outage) }),
  };
}

function sentence(outcome: Outcome): string {
  const found = KINDS.flatMap((kind) =>
    outcome[kind].length > 0 ? [`${kind}: ${outcome[kind].join(', ')}`] : [],
  );
  const { calls, failover, outage } = outcome;
  const facts = [
    `${calls} calls`,
    ...(outage === undefined ? [] : [`at most ${outage} ms without a write`]),
    ...(failover === undefined ? [] : [`first write ${failover} ms after the promotion`]),
  ].join(', ');
  return found.length > 0 ? `FOUND ${found.join('; ')}; ${facts}` : `well, ${facts}`;
}
