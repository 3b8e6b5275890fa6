// Prewarmed sandboxes in the database: separate rows until a spawn takes one (sandboxes.ts).
import type { Database } from 'better-sqlite3';
import type { AdmissionLimits } from '../../domain/admission.ts';
import { hasRoom, type Occupancy } from '../../domain/prewarm-room.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { fromPrewarmedRow, type PrewarmedRow, toPrewarmedRow } from '../rows.ts';
import type { PrewarmedRecord, PrewarmedStore, PrewarmedWish } from '../seam/prewarmed.ts';
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
  'image_digest',
  'memory_mb',
  'vcpus',
  'network',
  'runtime_id',
  'warnings',
  'created_at',
  'worker_id',
  'replica_id',
] as const satisfies readonly (keyof PrewarmedRecord)[];

export function warmStore(db: Database, work: Executor): PrewarmedStore {
  const reserve = reserving(db);
  const select = `SELECT ${COLUMNS} FROM warm_sandboxes`;
  const get = db.prepare<[string], PrewarmedRow>(`${select} WHERE id = ?`);
  const all = db.prepare<[], PrewarmedRow>(`${select} ORDER BY created_at, id`);
  const ready = db.prepare(
    `UPDATE warm_sandboxes SET state = 'ready', image = @image, image_digest = @image_digest, memory_mb = @memory_mb, vcpus = @vcpus,
       runtime_id = @runtime_id, warnings = @warnings, replica_id = NULL
     WHERE id = @id AND epoch = @epoch AND state = 'starting' AND replica_id IS @replica_id`,
  );
  const { take, putBack, end } = claiming(db);
  const remove = removing(db);
  return {
    reserve: (warm, limits, most) => work.grow(() => reserve.immediate(warm, limits, most)),
    ready: (warm) => work.change(() => ready.run(toPrewarmedRow(warm)).changes > 0),
    take: (wish) => work.change(() => take(wish)),
    putBack: (id, replica_id) => work.change(() => void putBack.run(id, replica_id)),
    end: (id, was, replica_id) =>
      work.settle(() => end.run({ id, was: was ?? null, replica_id }).changes > 0),
    get: (id) => work.run(() => get.all(id).map(fromPrewarmedRow)[0]),
    all: () => work.run(() => all.all().map(fromPrewarmedRow)),
    remove: (id) => work.settle(() => remove.immediate(id)),
  };
}

/** Call it inside a transaction. Removes the ready sandbox of this id, epoch and claim; false if there is none. */
export function warmTaker(
  db: Database,
): (warm: Pick<PrewarmedRecord, 'id' | 'epoch'>, replica_id: string | undefined) => boolean {
  const take = db.prepare(
    "DELETE FROM warm_sandboxes WHERE id = ? AND epoch = ? AND state = 'ready' AND replica_id IS ?",
  );
  return ({ id, epoch }, replica_id) => take.run(id, epoch, replica_id ?? null).changes > 0;
}

function claiming(db: Database) {
  // Run with all(), not get(): only a statement run to its end reports a commit that failed.
  const take = db.prepare<object, PrewarmedRow>(
    `UPDATE warm_sandboxes SET replica_id = @replica_id WHERE id = (
       SELECT id FROM warm_sandboxes
         WHERE shape = @shape AND state = 'ready' AND replica_id IS NULL
           AND (@worker_id IS NULL OR worker_id = @worker_id)
           AND worker_id NOT IN (SELECT value FROM json_each(@except))
         ORDER BY worker_id <> 'local', created_at, id LIMIT 1)
     RETURNING ${COLUMNS}`,
  );
  const putBack = db.prepare(
    "UPDATE warm_sandboxes SET replica_id = NULL WHERE id = ? AND replica_id = ? AND state = 'ready'",
  );
  const end = db.prepare(
    `UPDATE warm_sandboxes SET state = 'ending', replica_id = @replica_id
     WHERE id = @id AND (replica_id IS @was OR (state = 'ending' AND replica_id = @replica_id))`,
  );
  return {
    take: ({ worker_id, except = [], ...wish }: PrewarmedWish) =>
      take
        .all({ ...wish, worker_id: worker_id ?? null, except: JSON.stringify(except) })
        .map(fromPrewarmedRow)[0],
    putBack,
    end,
  };
}

function reserving(db: Database) {
  const usage = usageOf(db);
  const places = workerPlaces(db);
  const acquire = leaseTaker(db);
  const insert = db.prepare(
    `INSERT INTO warm_sandboxes (${COLUMNS}) VALUES (${COLUMNS.map((column) => `@${column}`)})`,
  );
  const ofShape = db
    .prepare<[string], number>("SELECT count(*) FROM warm_sandboxes WHERE shape = ? AND state <> 'ending'")
    .pluck();
  return db.transaction((warm: PrewarmedRecord, limits: AdmissionLimits, most?: number) => {
    if (most !== undefined && (ofShape.get(warm.shape) ?? 0) >= most) return undefined;
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
