// The tables as callers see them: each method runs on the thread that methods.ts names.
import { setImmediate } from 'node:timers/promises';
import type { Lane } from './lane.ts';
import { METHODS, type Part, type Route, SWEEP_ROWS, type Tables } from './methods.ts';
import type { RowCache } from './row-cache.ts';
import type { LaneName } from './wire.ts';

type Method = (...args: unknown[]) => Promise<unknown>;

export interface RoutingDeps {
  lanes: Record<LaneName, Lane>;
  /** The tables over the connection that only reads. */
  here: Tables;
  cache: RowCache;
}

export function routedTables(deps: RoutingDeps): Tables {
  const parts = Object.entries(METHODS) as [Part, Record<string, Route>][];
  const tables: Record<string, unknown> = {};
  for (const [part, methods] of parts) tables[part] = routedPart(part, methods, deps);
  return tables as unknown as Tables;
}

function routedPart(part: Part, methods: Record<string, Route>, deps: RoutingDeps): Record<string, Method> {
  const here = deps.here[part] as unknown as Record<string, Method>;
  const routed = Object.entries(methods).map(([method, route]): [string, Method] => [
    method,
    route === 'here'
      ? here[method]!
      : deps.cache.invalidating(part, method, onWriter(part, method, route, deps)),
  ]);
  return Object.fromEntries(routed);
}

/** Parts whose buffered writes need no sync of their own. */
const RELAXED: readonly Part[] = ['events', 'execs'];

function onWriter(part: Part, method: string, route: Exclude<Route, 'here'>, { lanes }: RoutingDeps): Method {
  const lane = route === 'read' ? lanes.read : RELAXED.includes(part) ? lanes.relaxed : lanes.durable;
  const call: Method = (...args) => lane.call({ part, method, args }, route === 'add');
  return route === 'sweep' ? sweeping(call) : call;
}

/** Repeats `step` until it has nothing left to delete. Resolves with the number of deleted rows. */
function sweeping(step: Method): Method {
  return async (...args) => {
    for (let total = 0; ; await setImmediate()) {
      const changes = (await step(...args)) as number;
      total += changes;
      if (changes < SWEEP_ROWS) return total;
    }
  };
}
