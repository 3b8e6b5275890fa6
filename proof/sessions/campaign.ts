// The campaign of faults in the middle of work: rounds in the order of a seed, on one server and three workers that live through
// all of it. A line for each fault, and its count in proof/results.json.
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { record } from '../results.ts';
import { Ground, WORKERS, type WorkerName } from './ground.ts';
import { type FaultName, type Findings, type Outcome, type Round, tryRound } from './round.ts';

/** Faults that come at a time, to a worker each; one of a kind that lasts half a minute with others that do. */
export const ROUNDS: readonly (readonly FaultName[])[] = [
  ['server killed'],
  ['worker killed', 'worker restarted', 'network cut for a moment'],
  ['worker frozen', 'network cut', 'connections forgotten'],
];

export interface SessionsOptions {
  /** How often each fault comes. */
  runs: number;
  /** It ends after the round in which they are over, or in which the signal says so. */
  minutes: number;
  seed: number;
  signal?: AbortSignal;
  told: (line: string) => void;
  /** Counts go into proof/results.json. */
  isKept: boolean;
}

type Counts = Record<keyof Findings | 'trials' | 'survived' | 'calls', number>;

/** The faults on workers, beginning with the `first`. */
export function placed(names: readonly FaultName[], first = 0): Round['faults'] {
  const on = (n: number) => WORKERS[(first + n) % WORKERS.length] as WorkerName;
  return Object.fromEntries(names.map((name, n) => [on(n), name]));
}

/** The number of faults after which something was wrong. */
export async function sessionsCampaign(options: SessionsOptions): Promise<number> {
  const { runs, minutes, seed, signal, told, isKept } = options;
  const ground = new Ground();
  const counts = new Map<FaultName, Counts>();
  const deadline = performance.now() + minutes * 60_000;
  try {
    await ground.start();
    for (const round of rounds(runs, seed)) {
      if (performance.now() > deadline || signal?.aborted) break;
      for (const outcome of await tryRound(ground, round)) {
        told(`${round.seed} ${outcome.fault}: ${sentence(outcome)}`);
        const row = count(counts, outcome);
        if (isKept) record('sessions', { name: outcome.fault, counts: row });
      }
    }
  } finally {
    await ground.stop();
  }
  return [...counts.values()].reduce((sum, { trials, survived }) => sum + trials - survived, 0);
}

/** Each round has a seed of its own, and each run another order and other places. */
function* rounds(runs: number, seed: number): Generator<Round> {
  for (let run = 0; run < runs; run++) {
    const random = seededRandom(seed + run);
    const roll = () => random.bytes(4).readUInt32LE();
    const order = ROUNDS.map((names) => ({ names, at: roll(), first: roll() % WORKERS.length }));
    for (const [n, { names, first }] of order.sort((a, b) => a.at - b.at).entries())
      yield { faults: placed(names, first), seed: seed + 100 * run + n };
  }
}

const findings = ({ late, untrue, unsettled }: Findings) => ({ late, untrue, unsettled });

function sentence(outcome: Outcome): string {
  const found = Object.entries(findings(outcome)).flatMap(([kind, each]) =>
    each.length > 0 ? [`${kind}: ${each.join(', ')}`] : [],
  );
  return found.length > 0 ? `FOUND ${found.join('; ')}` : 'well';
}

function count(counts: Map<FaultName, Counts>, outcome: Outcome): Counts {
  const none = { trials: 0, survived: 0, calls: 0, late: 0, untrue: 0, unsettled: 0 };
  const row = counts.get(outcome.fault) ?? none;
  counts.set(outcome.fault, row);
  row.trials++;
  row.calls += outcome.calls;
  const kinds = Object.entries(findings(outcome)) as [keyof Findings, string[]][];
  if (kinds.every(([, found]) => found.length === 0)) row.survived++;
  for (const [kind, found] of kinds) row[kind] += found.length > 0 ? 1 : 0;
  return row;
}
