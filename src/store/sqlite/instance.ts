// The identity of this database, created with it.
import type { Database } from 'better-sqlite3';
import type { Clock, Ids, Random } from '../../domain/ports.ts';
import type { Instance } from '../store.ts';

export function loadInstance(db: Database, deps: { clock: Clock; ids: Ids; random: Random }): Instance {
  const select = db.prepare<[], Instance>('SELECT id, key, created_at FROM instance');
  const load = db.transaction((): Instance => {
    const known = select.get();
    if (known) return known;
    const instance: Instance = {
      id: deps.ids.uuid(),
      key: deps.random.bytes(32).toString('hex'),
      created_at: new Date(deps.clock.now()).toISOString(),
    };
    db.prepare('INSERT INTO instance (id, key, created_at) VALUES (@id, @key, @created_at)').run(instance);
    return instance;
  });
  return load.immediate();
}
