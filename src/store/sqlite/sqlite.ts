// The SQLite library, made safe on Node 24.
import { createRequire } from 'node:module';
import Sqlite from 'better-sqlite3';

/** Its native classes: their objects are what the garbage collector would take. */
interface Native {
  Database: { prototype: object };
  Statement: { prototype: object };
}

/** The module version of Node 24, for which a native module is built. */
const NODE_24 = '137';

/**
 * Keeps every native object for the life of the process. Since 24.19 the headers of Node 24 end the process when one is
 * collected while no JavaScript runs (nodejs/node issue 65446), and version 12 of the library, the last for Node 20, is
 * built on them. What is kept is small: statements are prepared once, and a closed connection frees what they held.
 */
function keepNativeObjects({ Database, Statement }: Native): void {
  const kept = new Set<unknown>();
  const keep = (prototype: object, names: readonly string[]) => {
    for (const name of names) {
      const method = Reflect.get(prototype, name) as (...args: unknown[]) => unknown;
      const keeping = function (this: unknown, ...args: unknown[]): unknown {
        const made = Reflect.apply(method, this, args);
        kept.add(this).add(made);
        return made;
      };
      Object.defineProperty(prototype, name, { value: keeping });
    }
  };
  keep(Database.prototype, ['prepare', 'backup', 'exec', 'close']);
  keep(Statement.prototype, ['iterate']);
}

if (process.versions.modules === NODE_24)
  keepNativeObjects(createRequire(import.meta.url)('better-sqlite3/build/Release/better_sqlite3.node'));

export default Sqlite;
