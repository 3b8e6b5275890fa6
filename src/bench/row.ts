// A row of the speed table, and the interleaved measuring of a pair.
import { type Figures, figures, ratioInterval, ratioOfMedians } from './stats.ts';

export interface Row {
  id: string;
  name: string;
  unit: string;
  ours: Figures;
  baseline: Figures | null;
  ratio: number;
  interval: [number, number];
  /** Largest ratio that passes. */
  target: number;
  pass: boolean;
  pairs: number;
}

export interface Pair {
  id: string;
  name: string;
  target: number;
  pairs: number;
  /** Each does its thing once and gives the ms it counts. */
  ours(): Promise<number>;
  baseline(): Promise<number>;
}

/** Runs both sides A-B-A-B after five warm-ups, so that drift of the machine hits both alike. */
export async function measurePair(pair: Pair, next: () => number): Promise<Row> {
  const ours: number[] = [];
  const baseline: number[] = [];
  for (let n = 0; n < 5; n += 1) await Promise.all([pair.ours(), pair.baseline()]);
  for (let n = 0; n < pair.pairs; n += 1) {
    ours.push(await pair.ours());
    baseline.push(await pair.baseline());
  }
  const ratio = ratioOfMedians(ours, baseline);
  return {
    id: pair.id,
    name: pair.name,
    unit: 'ms',
    ours: figures(ours),
    baseline: figures(baseline),
    ratio,
    interval: ratioInterval({ ours, baseline }, next),
    target: pair.target,
    pass: ratio <= pair.target,
    pairs: pair.pairs,
  };
}
