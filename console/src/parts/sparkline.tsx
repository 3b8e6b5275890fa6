// A small line of the last values, beside the number that it ends with: readers are told the number alone.
import type { JSX } from 'preact';

const WIDTH = 40;
const HEIGHT = 16;

/** `least`: the end of the scale unless a value is greater. */
export function Sparkline({
  values,
  least,
}: {
  values: readonly number[];
  least: number;
}): JSX.Element | null {
  if (values.length < 2) return null;
  const most = Math.max(least, ...values);
  const step = WIDTH / (values.length - 1);
  const y = (value: number) => HEIGHT - 1 - (value / most) * (HEIGHT - 2);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline
        points={values.map((value, at) => `${(at * step).toFixed(1)},${y(value).toFixed(1)}`).join(' ')}
      />
    </svg>
  );
}
