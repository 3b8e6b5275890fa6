// A process of its own that admits sandboxes through the store over PostgreSQL: each message is a number of admissions, and is
// answered when they are committed. The argument is the URL of the database.
import { realClock } from '../src/host/clock.ts';
import { realIds } from '../src/host/ids.ts';
import { realRandom } from '../src/host/random.ts';
import { openPostgresStore } from '../src/store/postgres/open.ts';
import { admissionOf, LIMITS } from './admissions.ts';
import { SILENT } from './control-plane.ts';

/** As many callers as the store has guards at once. */
const AT_ONCE = 4;

const random = realRandom();
const store = await openPostgresStore({
  clock: realClock(),
  random,
  ids: realIds(random),
  logger: SILENT,
  url: process.argv[2] ?? '',
  program: '0.0.0',
  pool: 10,
  prepare: true,
  requireSyncStandby: false,
});

process.on('message', (count: number) => {
  let left = count;
  const one = async () => {
    while (left-- > 0) {
      const { row, event } = admissionOf(`owner-${left % 50}`);
      const { kind } = await store.sandboxes.reserve({ sandbox: row, limits: LIMITS, events: [event] });
      if (kind !== 'reserved') throw new Error(`an admission was ${kind}`);
    }
  };
  void Promise.all(Array.from({ length: AT_ONCE }, one)).then(() => process.send?.('done'));
});
process.once('disconnect', () => process.exit());
process.send?.('ready');
