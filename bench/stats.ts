// Figures of a sample. Ratios are of medians, since the machine's speed drifts and its tail is noise.

export interface Figures {
  p50: number;
  p95: number;
}

/** The value below which `share` (0 to 1) of the sorted sample lies. */
export function quantile(sample: readonly number[], share: number): number {
  const sorted = [...sample].sort((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1));
  return sorted[index] ?? Number.NaN;
}

export function figures(sample: readonly number[]): Figures {
  return { p50: quantile(sample, 0.5), p95: quantile(sample, 0.95) };
}

/** Median of `ours` over median of `baseline`. */
export function ratioOfMedians(ours: readonly number[], baseline: readonly number[]): number {
  return quantile(ours, 0.5) / quantile(baseline, 0.5);
}

/** How long `work` takes, in ms. */
export async function clocked(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** The median of what `work` gives in so many goes. */
export async function medianOf(goes: number, work: () => Promise<number>): Promise<number> {
  const sample: number[] = [];
  while (sample.length < goes) sample.push(await work());
  return quantile(sample, 0.5);
}

interface Samples {
  ours: readonly number[];
  baseline: readonly number[];
}

/** 95 % bootstrap interval of the ratio of medians; `next` gives numbers in [0, 1). */
export function ratioInterval(samples: Samples, next: () => number): [number, number] {
  return interval(samples, next, ratioOfMedians);
}

/** The same of the difference of medians. */
export function differenceInterval(samples: Samples, next: () => number): [number, number] {
  return interval(samples, next, (ours, baseline) => quantile(ours, 0.5) - quantile(baseline, 0.5));
}

/** The same of the median itself. */
export function figureInterval(ours: readonly number[], next: () => number): [number, number] {
  return interval({ ours, baseline: [] }, next, (drawn) => quantile(drawn, 0.5));
}

const ROUNDS = 1000;

function interval(
  samples: Samples,
  next: () => number,
  measure: (ours: readonly number[], baseline: readonly number[]) => number,
): [number, number] {
  const draw = (sample: readonly number[]) =>
    sample.map(() => sample[Math.floor(next() * sample.length)] ?? 0);
  const found = Array.from({ length: ROUNDS }, () => measure(draw(samples.ours), draw(samples.baseline)));
  return [quantile(found, 0.025), quantile(found, 0.975)];
}
