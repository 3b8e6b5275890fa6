// A row of the speed table, and the interleaved measuring of a pair.
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
  /** What was judged in an earlier run. */
  was?: number;
}

export interface Pair {
  id: string;
  name: string;
  /** Largest ratio that passes; for `difference` the most that ours may be more, for `figure` the most it may be. */
  target: number;
  /** `ratio` unless given, and `figure` without a baseline. */
  judged?: 'ratio' | 'difference' | 'figure';
  /** ms unless given. */
  unit?: 'ms' | 'MB' | 'KB';
  pairs: number;
  /** 5 unless given. */
  warmUps?: number;
  /** Each does its thing once and gives the ms, or other units, that it counts. */
  ours(): Promise<number>;
  baseline?(): Promise<number>;
}

/** Runs both sides A-B-A-B after the warm-ups, so that drift of the machine hits both alike. Ends early with `signal`. */
export async function measurePair(pair: Pair, next: () => number, signal?: AbortSignal): Promise<Row> {
  const ours: number[] = [];
  const baseline: number[] = [];
  for (let n = 0; n < (pair.warmUps ?? 5); n += 1) await Promise.all([pair.ours(), pair.baseline?.()]);
  for (let n = 0; n < pair.pairs; n += 1) {
    signal?.throwIfAborted();
    ours.push(await pair.ours());
    if (pair.baseline) baseline.push(await pair.baseline());
  }
  const { measure, ...judged } = verdict(pair, { ours, baseline }, next);
  return {
    id: pair.id,
    name: pair.name,
    unit: pair.unit ?? 'ms',
    ours: figures(ours),
    baseline: pair.baseline ? figures(baseline) : null,
    ...judged,
    target: pair.target,
    pass: measure <= pair.target,
    pairs: pair.pairs,
  };
}

function verdict(
  { baseline, judged = baseline ? 'ratio' : 'figure' }: Pair,
  samples: { ours: number[]; baseline: number[] },
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
