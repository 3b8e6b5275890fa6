// What a count says of the rate behind it.

const DOUBT = 0.05;

/**
 * The rate below which it lies with 95 % confidence, when `found` of `trials` independent trials failed: 3/N where none did
 * (the exact bound of a Poisson count; never above 1).
 */
export function upperBound(found: number, trials: number): number {
  if (trials <= 0) return 1;
  let [low, high] = [0, 2 * found + 10];
  for (let step = 0; step < 60; step++) {
    const mean = (low + high) / 2;
    if (atMost(found, mean) > DOUBT) low = mean;
    else high = mean;
  }
  return Math.min(1, high / trials);
}

/** The chance of at most `count` where `mean` are expected. */
function atMost(count: number, mean: number): number {
  let term = Math.exp(-mean);
  let sum = term;
  for (let n = 1; n <= count; n++) {
    term *= mean / n;
    sum += term;
  }
  return sum;
}
