// A process of its own that admits sandboxes through the store over PostgreSQL: each message is a number of admissions, and is
// answered when they are committed. The argument is the URL of the database.
import { admissionOf, LIMITS } from './admissions.ts';
import { openStoreOver } from './postgres.ts';

/** Callers, whose admissions the store joins. */
const AT_ONCE = 8;

const store = await openStoreOver(process.argv[2] ?? '');

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
