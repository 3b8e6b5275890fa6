// The campaign of faults in a fleet: rounds in the order of a seed, on one fleet that lives through all of it. A line for each
// round, and the counts of its faults in proof/results.json. What earlier runs of it counted is kept: it goes on where it was
// interrupted.
import { join } from 'node:path';
import { packageRoot } from '../../src/host/package-root.ts';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import type { Counts } from '../kinds.ts';
import { readResults, record } from '../results.ts';
import { FAULTS, type FaultName, roundsOf } from './faults.ts';
import { Ground } from './ground.ts';
import { type Findings, type Outcome, Rounds } from './round.ts';

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

/** Behind a rest of this length the line says what it waited for. */
const LONG_REST_MS = 5000;

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

/** The number of rounds after which something was wrong. */
export async function replicasCampaign(options: ReplicasOptions): Promise<number> {
  const { runs, minutes, seed, signal, filters = [''], told, isKept } = options;
  const counts = new Map<FaultName, Row>(isKept ? counted() : []);
  const deadline = performance.now() + minutes * 60_000;
  const isOver = () => performance.now() > deadline || signal?.aborted;
  let fleet: Fleet | undefined;
  let found = 0;
  try {
    for (let run = 0; run < runs; run++) {
      const wanted = ordered(seed + run).filter(
        (fault) => filters.some((words) => fault.includes(words)) && (counts.get(fault)?.trials ?? 0) <= run,
      );
      for (const faults of roundsOf(wanted)) {
        if (isOver()) return found;
        fleet ??= await startFleet();
        const began = performance.now();
        const outcome = await fleet.rounds.try(faults, seed + 100 * run).catch(undone);
        const seconds = Math.round((performance.now() - began) / 1000);
        told(`${run + 1} ${faults.join(' + ')}: ${sentence(outcome)}; ${seconds} s: ${spent(outcome)}`);
        for (const fault of faults) {
          const row = add(counts.get(fault) ?? none(), outcome, faults.length);
          counts.set(fault, row);
          if (isKept) record('replicas', { name: fault, counts: row });
        }
        if (!isBroken(outcome)) continue;
        found++;
        fleet.ground.keepLogs(join(packageRoot(), '.cache', `fleet-${run + 1}-${faults.join('-')}`));
        // What is left of a round that did not come to its end would be found in the next one.
        await fleet.stop();
        fleet = undefined;
      }
      // The disks of a database that changed its primary many times get full.
      await fleet?.stop();
      fleet = undefined;
    }
    return found;
  } finally {
    await fleet?.stop();
  }
}

interface Fleet {
  ground: Ground;
  rounds: Rounds;
  stop(): Promise<void>;
}

async function startFleet(): Promise<Fleet> {
  const ground = new Ground();
  try {
    await ground.start();
    const rounds = new Rounds(ground);
    await rounds.start();
    const stop = async () => {
      await rounds.stop();
      await ground.stop();
    };
    return { ground, rounds, stop };
  } catch (error) {
    await ground.stop();
    throw error;
  }
}

/** Of a round that did not come to its end. */
function undone(error: unknown): Outcome {
  const none = Object.fromEntries(KINDS.map((kind) => [kind, [] as string[]])) as unknown as Findings;
  return { calls: 0, last: [], took: {}, ...none, unsettled: [String(error)] };
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

/** The calls of a round are shared out among its faults. */
function add(row: Row, outcome: Outcome, faults: number): Row {
  const sums = KINDS.map((kind) => [kind, row[kind] + (outcome[kind].length > 0 ? 1 : 0)]);
  const survived = (row.survived ?? 0) + (isBroken(outcome) ? 0 : 1);
  return {
    ...row,
    ...Object.fromEntries(sums),
    trials: row.trials + 1,
    survived,
    calls: (row.calls ?? 0) + Math.round(outcome.calls / faults),
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

function spent({ took, last }: Outcome): string {
  const laps = Object.entries(took).map(([name, ms]) => `${name} ${(ms / 1000).toFixed(1)}`);
  const isLong = (took.rest ?? 0) > LONG_REST_MS;
  return [...laps, ...(isLong ? [`waited for: ${last.join(', ')}`] : [])].join(', ');
}
