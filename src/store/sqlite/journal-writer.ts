// Writes a worker's journal, which has one table. It needs little space, and with none (a full disk) a worker can still
// end its sandboxes.
import type { WorkerSandboxRecord } from '../seam/worker-journal.ts';
import { createExecutor } from './executor.ts';
import { fileIdentityCheck } from './file-identity.ts';
import { Groups } from './groups.ts';
import type { ReserveSpace } from './reserve-space.ts';
import type { WriterGround, WriterParts } from './writer.ts';

const NO_RESERVE: ReserveSpace = { ready: () => true, spend: () => false };
const NO_IDS = { reload: () => {} };

export function journalParts({ path, synchronous, clock, connect }: WriterGround): WriterParts {
  const db = connect(synchronous);
  const guards = { reserveSpace: NO_RESERVE, inPlace: fileIdentityCheck(path) };
  const alone = createExecutor({ clock, ...guards, isOpen: () => db.open });
  const groups = new Groups({ db, ids: NO_IDS, ...guards, alone });
  const { work } = groups;
  const all = db.prepare<[], string>('SELECT record FROM held').pluck();
  const put = db.prepare<[string, string, string, string]>(
    'INSERT OR REPLACE INTO held (sandbox_id, state, noted_at, record) VALUES (?, ?, ?, ?)',
  );
  const forget = db.prepare<[string]>("DELETE FROM held WHERE state = 'ended' AND noted_at < ?");
  const held = {
    all: () => work.run(() => all.all().map((text) => JSON.parse(text) as WorkerSandboxRecord)),
    put: (record: WorkerSandboxRecord) =>
      work.change(
        () => void put.run(record.sandbox_id, record.state, record.noted_at, JSON.stringify(record)),
      ),
    forget: (before: string) => work.change(() => void forget.run(before)),
  };
  return { tables: { held }, groups, alone };
}
