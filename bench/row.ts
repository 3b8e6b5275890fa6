// A row of the speed table, and the interleaved measuring of a pair.
import { seeded } from './seeded.ts';
import {
  differenceInterval,
  type Figures,
  figureInterval,
  figures,
  quantile,
  ratioInterval,
  ratioOfMedians,
} from './stats.ts';

export interface Row {
  id: string;
  name: string;
  unit: string;
  ours: Figures;
  /** null where a row is judged by its own figure. */
  baseline: Figures | null;
  /** What is judged: the ratio of medians, or for `value` a number of units: a difference, or the figure itself. */
  ratio?: number;
  value?: number;
  /** 95 %, of what is judged. */
  interval: [number, number];
  /** Largest that passes. */
  target: number;
  pass: boolean;
  pairs: number;
  /** Where it missed: what limit it meets. */
  limit?: string;
  /** What was judged in an earlier run. */
  was?: number;
  /** Where a kept row is newer than its table: when its run started. */
  started_at?: string;
  /** What all its pairs took. */
  seconds?: number;
}

export interface Pair {
  id: string;
  name: string;
  /** Largest ratio that passes; for `difference` the most that ours may be more, for `figure` the most it may be. */
  target: number;
  /** `ratio` unless given, and `figure` without a baseline. */
  judged?: 'ratio' | 'difference' | 'figure';
  /** ms unless given. */
  unit?: 'ms' | 'MB' | 'KB' | '%';
  /** What keeps it from its bar, in a sentence: asked for where it misses, so that it can be measured then. */
  limit?: () => string | Promise<string>;
  /** Asked for where the ratio misses. Ours passes if it takes at most a tenth more than its floor. */
  floor?: () => Promise<Floor>;
  /** Waited before each side, in ms, where the other one leaves work to others that it does not wait for. */
  rest?: number;
  /** At most: a row ends after 15 seconds, unless it has a handful only by then. */
  pairs: number;
  /** 5 unless given. */
  warmUps?: number;
  /** Each does its thing once and gives the ms, or other units, that it counts. */
  ours(): Promise<number>;
  baseline?(): Promise<number>;
}

/** What the same call takes without what the row measures, and ours in turn with it; medians in ms. */
export interface Floor {
  ms: number;
  ours: number;
  what: string;
}

/** Keeps a complete table within half an hour. */
const LONGEST_MS = 15_000;
const LEAST_PAIRS = 5;
const MOST_OVER_FLOOR = 1.1;

/** The row, with what measuring it took. Its interval is the same for the same figures. */
export async function measureRow(pair: Pair, signal?: AbortSignal): Promise<Row> {
  const began = performance.now();
  const row = await measurePair(pair, seeded(7423), signal);
  return { ...row, seconds: Math.round((performance.now() - began) / 1000) };
}

/** Runs both sides A-B-A-B after the warm-ups, so that drift of the machine hits both alike. Ends early with `signal`. */
async function measurePair(pair: Pair, next: () => number, signal?: AbortSignal): Promise<Row> {
  for (let n = 0; n < (pair.warmUps ?? 5); n += 1) {
    signal?.throwIfAborted();
    await Promise.all([pair.ours(), pair.baseline?.()]);
  }
  const samples = await sampled(pair, signal);
  const { measure, ...judged } = verdict(pair, samples, next);
  const ours = figures(samples.ours);
  const within = measure <= pair.target;
  const floor = within ? undefined : await pair.floor?.();
  const pass = within || (floor !== undefined && floor.ours <= MOST_OVER_FLOOR * floor.ms);
  const limits = [floor && floorText(floor), pass ? undefined : await pair.limit?.()].filter(Boolean);
  return {
    id: pair.id,
    name: pair.name,
    unit: pair.unit ?? 'ms',
    ours,
    baseline: pair.baseline ? figures(samples.baseline) : null,
    ...judged,
    target: pair.target,
    pass,
    pairs: samples.ours.length,
    ...(limits.length > 0 && { limit: limits.join('; ') }),
  };
}

function floorText({ ms, ours, what }: Floor): string {
  return `${what} takes ${ms.toFixed(1)} ms, and ours in turn with it ${ours.toFixed(1)} ms`;
}

interface Samples {
  ours: number[];
  baseline: number[];
}

async function sampled(pair: Pair, signal: AbortSignal | undefined): Promise<Samples> {
  const samples: Samples = { ours: [], baseline: [] };
  const end = performance.now() + LONGEST_MS;
  for (let n = 0; n < pair.pairs && (n < LEAST_PAIRS || performance.now() < end); n += 1) {
    signal?.throwIfAborted();
    await rest(pair);
    samples.ours.push(await pair.ours());
    if (!pair.baseline) continue;
    await rest(pair);
    samples.baseline.push(await pair.baseline());
  }
  return samples;
}

const rest = async ({ rest: ms }: Pair) => ms && new Promise((resolve) => setTimeout(resolve, ms));

function verdict(
  { baseline, judged = baseline ? 'ratio' : 'figure' }: Pair,
  samples: Samples,
  next: () => number,
): Pick<Row, 'ratio' | 'value' | 'interval'> & { measure: number } {
  if (judged === 'figure') {
    const value = quantile(samples.ours, 0.5);
    return { measure: value, value, interval: figureInterval(samples.ours, next) };
  }
  if (judged === 'ratio') {
    const ratio = ratioOfMedians(samples.ours, samples.baseline);
    return { measure: ratio, ratio, interval: ratioInterval(samples, next) };
  }
  const value = quantile(samples.ours, 0.5) - quantile(samples.baseline, 0.5);
  return { measure: value, value, interval: differenceInterval(samples, next) };
}
