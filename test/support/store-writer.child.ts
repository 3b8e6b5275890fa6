// Writes to the store in `argv[2]` for as long as it lives, and names each row once its write was acknowledged.
import { writeSync } from 'node:fs';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { fakeDeps } from './fakes/ports.ts';
import { eventDraft, NO_CAP, sandboxRecord } from './records.ts';

const [, , path = '', round = ''] = process.argv;
const store = await openSqliteStore({ ...fakeDeps(), path, synchronous: 'full' });
store.announce('http://127.0.0.1:7423');
writeSync(1, 'open\n');
for (let n = 0; ; n++) {
  const record = sandboxRecord({ id: `sb-${round}-${n}`, metadata: { round } });
  await store.sandboxes.reserve({
    sandbox: record,
    limits: NO_CAP,
    events: [eventDraft({ sandbox_id: record.id })],
  });
  writeSync(1, `reserved ${record.id}\n`);
  const change = {
    id: record.id,
    from: ['creating'],
    epoch: 1,
    patch: { state: 'running' },
    events: [eventDraft()],
  } as const;
  await store.sandboxes.transition({ ...change, from: [...change.from], events: [...change.events] });
  writeSync(1, `running ${record.id}\n`);
  await store.events.append([eventDraft({ type: 'exec.started' })]);
}
