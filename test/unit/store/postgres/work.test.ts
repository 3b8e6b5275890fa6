// One operation on the database ends soon after its 5 s, however its attempts fail.
import { expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import type { Connection } from '../../../../src/store/postgres/connection.ts';
import { type Outcome, StatementFailure } from '../../../../src/store/postgres/failures.ts';
import type { ConnectionPool } from '../../../../src/store/postgres/pool.ts';
import { createWork } from '../../../../src/store/postgres/work.ts';
import { fakeClock, seededRandom } from '../../../support/fakes/ports.ts';

const STATEMENT = { name: 'add', text: 'SELECT 1' };

/** A database whose statements take `takesMs`, or all that they are given, and fail. */
function failing(outcome: Outcome, takesMs = Number.POSITIVE_INFINITY) {
  const clock = fakeClock();
  const given: number[] = [];
  const run = async ({ name }: { name: string }, ms = 0) => {
    if (name === 'confirm') return [];
    given.push(ms);
    await clock.sleep(Math.min(ms, takesMs));
    throw new StatementFailure(outcome, 'now', new ServiceError('unavailable', 'It failed.'));
  };
  const pool = {
    use: <T>(work: (connection: Connection) => Promise<T>) => work({ run } as unknown as Connection),
  } as ConnectionPool;
  return { clock, given, work: createWork({ pool, clock, random: seededRandom() }) };
}

async function spent({ clock, work }: ReturnType<typeof failing>): Promise<number> {
  const start = clock.monotonic();
  let end: number | undefined;
  const done = work.write(STATEMENT).catch(() => {
    end = clock.monotonic();
  });
  for (let turn = 0; turn < 200 && end === undefined; turn++) await clock.advance(100);
  await done;
  return (end as number) - start;
}

it('lets the database cancel the first attempt', async () => {
  const database = failing('unknown');
  await spent(database);
  expect(database.given[0]).toBe(5500);
});

it('gives later attempts what is left, and the last one a second', async () => {
  const database = failing('unknown', 2200);
  expect(await spent(database)).toBeLessThan(7000);
  expect(database.given).toHaveLength(3);
  expect(database.given[1]).toBeLessThan(3500);
  expect(database.given[2]).toBe(1500);
});

it('starts no attempt after 5 s', async () => {
  const database = failing('unknown', 1000);
  expect(await spent(database)).toBeLessThan(6600);
  expect(database.given.length).toBeLessThanOrEqual(6);
});
