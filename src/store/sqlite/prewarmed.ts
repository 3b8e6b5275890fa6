// Prewarmed sandboxes in the database: separate rows until a spawn takes one (sandboxes.ts).
import type { Database } from 'better-sqlite3';
import type { AdmissionLimits } from '../../domain/admission.ts';
import { hasRoom, type Occupancy } from '../../domain/prewarm-room.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { fromPrewarmedRow, type PrewarmedRow, toPrewarmedRow } from '../rows.ts';
import type { PrewarmedRecord, PrewarmedStore } from '../seam/prewarmed.ts';
import type { Executor } from './executor.ts';
import { leaseTaker } from './leases.ts';
import { workerPlaces } from './workers.ts';

const COLUMNS = [
  'id',
  'epoch',
  'state',
  'template',
  'shape',
  'provider',
  'image',
  'memory_mb',
  'vcpus',
  'network',
  'runtime_id',
  'warnings',
  'created_at',
  'worker_id',
] as const satisfies readonly (keyof PrewarmedRecord)[];

export function warmStore(db: Database, work: Executor): PrewarmedStore {
  const reserve = reserving(db);
  const select = `SELECT ${COLUMNS} FROM warm_sandboxes`;
  const get = db.prepare<[string], PrewarmedRow>(`${select} WHERE id = ?`);
  const all = db.prepare<[], PrewarmedRow>(`${select} ORDER BY created_at, id`);
  const ready = db.prepare(
    `UPDATE warm_sandboxes SET state = 'ready', image = @image, memory_mb = @memory_mb, vcpus = @vcpus,
       runtime_id = @runtime_id, warnings = @warnings WHERE id = @id AND epoch = @epoch AND state = 'starting'`,
  );
  const remove = removing(db);
  return {
    reserve: (warm, limits) => work.grow(() => reserve.immediate(warm, limits)),
    ready: (warm) => work.change(() => ready.run(toPrewarmedRow(warm)).changes > 0),
    get: (id) => work.run(() => get.all(id).map(fromPrewarmedRow)[0]),
    all: () => work.run(() => all.all().map(fromPrewarmedRow)),
    remove: (id) => work.settle(() => remove.immediate(id)),
  };
}

/** Call it inside a transaction. Removes the ready sandbox of this id and epoch; false if there is none. */
export function warmTaker(db: Database): (warm: Pick<PrewarmedRecord, 'id' | 'epoch'>) => boolean {
  const take = db.prepare("DELETE FROM warm_sandboxes WHERE id = ? AND epoch = ? AND state = 'ready'");
  return ({ id, epoch }) => take.run(id, epoch).changes > 0;
}

function reserving(db: Database) {
  const usage = usageOf(db);
  const places = workerPlaces(db);
  const acquire = leaseTaker(db);
  const insert = db.prepare(
    `INSERT INTO warm_sandboxes (${COLUMNS}) VALUES (${COLUMNS.map((column) => `@${column}`)})`,
  );
  return db.transaction((warm: PrewarmedRecord, limits: AdmissionLimits): PrewarmedRecord | undefined => {
    const used = usage(warm.provider);
    const { placement } = limits;
    if (!hasRoom({ ...used, of_provider: 0 }, limits)) return undefined;
    const isLocalFull = !hasRoom(used, limits);
    const worker_id = placement
      ? places.findBeside(warm.provider, placement, isLocalFull).worker_id
      : LOCAL_WORKER;
    if (worker_id === undefined || (!placement && isLocalFull)) return undefined;
    const placed = { ...warm, worker_id };
    insert.run(toPrewarmedRow(placed));
    if (placement && worker_id !== LOCAL_WORKER) {
      const { id, created_at } = warm;
      acquire({ resource_id: id, holder_id: worker_id, expires_at: placement.lease_until, created_at });
    }
    return placed;
  });
}

/** Sandboxes and prewarmed ones: in total, and of a provider on this server. */
function usageOf(db: Database): (provider: string) => Occupancy {
  const places = workerPlaces(db);
  const counted = (active: string, warm: string) =>
    `(SELECT coalesce(sum(active), 0) FROM active_counts ${active}) + (SELECT count(*) FROM warm_sandboxes ${warm})`;
  const own = 'WHERE provider = @provider';
  const used = db.prepare<{ provider: string }, Occupancy>(
    `SELECT ${counted('', '')} AS total, ${counted(own, `${own} AND worker_id = 'local'`)} AS of_provider`,
  );
  return (provider) => {
    const { total, of_provider } = used.get({ provider }) ?? { total: 0, of_provider: 0 };
    return { total, of_provider: of_provider - places.elsewhere(provider) };
  };
}

function removing(db: Database) {
  const remove = db.prepare('DELETE FROM warm_sandboxes WHERE id = ?');
  const release = db.prepare('DELETE FROM leases WHERE resource_id = ?');
  return db.transaction((id: string): void => {
    if (remove.run(id).changes > 0) release.run(id);
  });
}
