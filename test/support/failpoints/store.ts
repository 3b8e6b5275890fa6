// Stands in for the opening of the database: the real store with points around its commits.
import { openSqliteStore as open, type SqliteOptions } from '../../../src/store/sqlite/open.ts';
import type { SandboxStore } from '../../../src/store/store.ts';
import { at, type Point } from './point.ts';

type Moment = readonly [before: Point | undefined, after: Point | undefined];

/** By the state that a row gets. */
const MOMENTS: Readonly<Record<string, Moment>> = {
  running: [undefined, 'S3'],
  destroying: ['D0', 'D1'],
  destroyed: [undefined, 'D3'],
};

export async function openSqliteStore(options: SqliteOptions) {
  const store = await open(options);
  const { sandboxes } = store;
  const around: Pick<SandboxStore, 'reserve' | 'transition'> = {
    reserve: async (...given) => {
      await at('S0');
      const reservation = await sandboxes.reserve(...given);
      // The fifth says that the row is a ready sandbox's.
      await at(given[4] ? 'S5' : 'S1');
      return reservation;
    },
    transition: async (change) => {
      const [before, after] = MOMENTS[change.patch.state ?? ''] ?? [];
      if (before) await at(before);
      const moved = await sandboxes.transition(change);
      if (after) await at(after);
      return moved;
    },
  };
  return replaced(store, { sandboxes: replaced(sandboxes, around) });
}

/** The same object with some members of another: methods keep their `this`. */
function replaced<T extends object>(whole: T, members: Partial<T>): T {
  return new Proxy(whole, {
    get: (target, name) => {
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
