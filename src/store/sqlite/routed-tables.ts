// The tables as callers see them: each method runs where methods.ts says.
import { setImmediate } from 'node:timers/promises';
import type { Lane } from './lane.ts';
import { BITE_ROWS, METHODS, type Part, type Route, type Tables } from './methods.ts';
import type { RowCache } from './row-cache.ts';
import type { LaneName } from './wire.ts';

type Method = (...args: unknown[]) => Promise<unknown>;

export interface FaceDeps {
  lanes: Record<LaneName, Lane>;
  /** Over the connection that only reads. */
  here: Tables;
  known: RowCache;
}

export function routedTables(deps: FaceDeps): Tables {
  const parts = Object.entries(METHODS) as [Part, Record<string, Route>][];
  const faces = parts.map(([part, methods]) => [part, faceOf(part, methods, deps)]);
  return withForgetting(Object.fromEntries(faces) as Tables, deps.known);
}

function faceOf(part: Part, methods: Record<string, Route>, deps: FaceDeps): Record<string, Method> {
  const here = deps.here[part] as unknown as Record<string, Method>;
  const named = Object.entries(methods).map(([method, way]): [string, Method] => [
    method,
    way === 'here' ? here[method]! : elsewhere(part, method, way, deps),
  ]);
  return Object.fromEntries(named);
}

function elsewhere(part: Part, method: string, way: Exclude<Route, 'here'>, { lanes }: FaceDeps): Method {
  const lane = way === 'read' ? lanes.read : part === 'events' ? lanes.relaxed : lanes.durable;
  const call: Method = (...args) => lane.call({ part, method, args }, way === 'add');
  return way === 'sweep' ? sweeping(call) : call;
}

/** Until there is nothing left to delete; how many in all. */
function sweeping(bite: Method): Method {
  return async (...args) => {
    for (let total = 0; ; await setImmediate()) {
      const changes = (await bite(...args)) as number;
      total += changes;
      if (changes < BITE_ROWS) return total;
    }
  };
}

/** A row that is in memory is never older than what was acknowledged; what failed may have been written, too. */
function withForgetting(tables: Tables, known: RowCache): Tables {
  const { transition, extend, purgeEnded } = tables.sandboxes;
  return {
    ...tables,
    clock: {
      ...tables.clock,
      set: (...args) => tables.clock.set(...args).finally(() => known.forgetAll()),
    },
    sandboxes: {
      ...tables.sandboxes,
      transition: (change) => transition(change).finally(() => known.forget(change.id)),
      extend: (id, ...rest) => extend(id, ...rest).finally(() => known.forget(id)),
      purgeEnded: (...args) => purgeEnded(...args).finally(() => known.forgetAll()),
    },
  };
}
