// What the sandboxes in sight use: one request for all of them every five seconds, and their last values as they were seen here.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LiveSandbox, LiveUsage } from '../../../src/schema/usage.ts';
import { useGet } from '../parts/load.tsx';

/** What the server measures at a time. */
export const MOST_IN_SIGHT = 100;
const EVERY_MS = 5000;
/** Two minutes. */
const MOST_VALUES = 24;
/** Those seen last; others begin anew. */
const MOST_KEPT = 500;

/** By sandbox; another map for each answer, so that cells alone are painted again. */
export const usage = signal<ReadonlyMap<string, LiveSandbox>>(new Map());
const values = new Map<string, number[]>();

/** Processor percentages of a sandbox, the newest last. Read together with `usage`. */
export const lastValues = (id: string): readonly number[] => values.get(id) ?? [];

/** Asks as long as it is there. A component of its own: an answer paints cells, not the list. */
export function RowsUsage({ ids }: { ids: readonly string[] }): null {
  const path = ids.length === 0 ? undefined : 'usage/sandboxes';
  const { data } = useGet<LiveUsage>(path, { ids: ids.join(), limit: MOST_IN_SIGHT }, EVERY_MS);
  useEffect(() => {
    if (!data) return;
    for (const { sandbox_id, cpu_percent } of data.sandboxes) keep(sandbox_id, cpu_percent);
    usage.value = new Map(data.sandboxes.map((one) => [one.sandbox_id, one]));
  }, [data]);
  useEffect(
    () => () => {
      usage.value = new Map();
      values.clear();
    },
    [],
  );
  return null;
}

function keep(id: string, percent: number | undefined): void {
  const before = values.get(id) ?? [];
  values.delete(id);
  if (percent === undefined) return;
  values.set(id, [...before, percent].slice(-MOST_VALUES));
  const [oldest] = values.keys();
  if (values.size > MOST_KEPT && oldest !== undefined) values.delete(oldest);
}
