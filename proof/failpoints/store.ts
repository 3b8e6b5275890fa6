// Stands in for the opening of the database: the real store with a point before and after each of its changes.
import { openSqliteStore as open, type SqliteOptions } from '../../src/store/sqlite/open.ts';
import type { SandboxStore, Store } from '../../src/store/store.ts';
import { around, STEPS, STORE_STEPS, type Step } from './point.ts';

type Method = (...given: unknown[]) => Promise<unknown>;

export async function openSqliteStore(options: SqliteOptions) {
  const store = await open(options);
  const parts = Object.entries(STORE_STEPS).map(([name, methods]) => {
    const part = Reflect.get(store, name) as Record<string, Method>;
    const stepped = methods.map((method) => [method, between(`${name}.${method}` as Step, part, method)]);
    const sandboxes = name === 'sandboxes' ? rows(store.sandboxes) : {};
    return [name, replaced(part, { ...Object.fromEntries(stepped), ...sandboxes })];
  });
  return replaced<Store>(store, Object.fromEntries(parts));
}

function between(step: Step, part: Record<string, Method>, method: string): Method {
  return (...given) => around(step, async () => part[method]?.(...given));
}

/** Their step depends on what is done. */
function rows(sandboxes: SandboxStore): Pick<SandboxStore, 'reserve' | 'transition'> {
  return {
    reserve: (order) =>
      around(order.warm ? 'sandboxes.take' : 'sandboxes.reserve', () => sandboxes.reserve(order)),
    transition: (change) => {
      const step = STEPS.find((one) => one === `sandboxes.${change.patch.state}`);
      const move = () => sandboxes.transition(change);
      return step ? around(step, move) : move();
    },
  };
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
