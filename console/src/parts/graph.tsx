// A line over time. A gap in what was measured is a gap in the line. Its numbers are text as well.
import type { JSX } from 'preact';

export interface GraphPoint {
  /** ms since 1970. */
  at: number;
  value: number;
}

const WIDTH = 600;
const HEIGHT = 100;

export interface GraphProps {
  title: string;
  points: readonly GraphPoint[];
  /** Points that are further apart have a gap between them. */
  stepSeconds: number;
  text(value: number): string;
}

export function Graph({ title, points, stepSeconds, text }: GraphProps): JSX.Element {
  const last = points.at(-1);
  if (!last) return <p class="hint">Nothing was measured yet.</p>;
  const first = points[0]!.at;
  const most = Math.max(...points.map(({ value }) => value));
  const x = (at: number) => (last.at === first ? WIDTH : ((at - first) / (last.at - first)) * WIDTH);
  const y = (value: number) => (most === 0 ? HEIGHT - 1 : HEIGHT - 1 - (value / most) * (HEIGHT - 2));
  const lines = runsOf(points, stepSeconds * 2500);
  return (
    <figure class="graph">
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: now ${text(last.value)}, at most ${text(most)}`}
      >
        {lines.map((line) => (
          <polyline
            key={line[0]!.at}
            points={line.map(({ at, value }) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ')}
          />
        ))}
      </svg>
      <figcaption>
        now {text(last.value)}, at most {text(most)} in {Math.max(1, Math.round((last.at - first) / 60_000))}{' '}
        min
      </figcaption>
    </figure>
  );
}

/** Parts without a gap. */
function runsOf(points: readonly GraphPoint[], gapMs: number): GraphPoint[][] {
  const runs: GraphPoint[][] = [];
  for (const point of points) {
    const run = runs.at(-1);
    if (run && point.at - run.at(-1)!.at <= gapMs) run.push(point);
    else runs.push([point]);
  }
  return runs;
}
