// What orders of one call mean for each other: a denial that rests on others is not final, and a failure goes to its own order.
import { expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { Numbering } from '../../../../src/store/postgres/outbox.ts';
import { reserving } from '../../../../src/store/postgres/reserving.ts';
import type { Work } from '../../../../src/store/postgres/work.ts';
import { fakeClock, fakeDeps } from '../../../support/fakes/ports.ts';
import { NO_CAP, sandboxRecord } from '../../../support/records.ts';

const FACTS = {
  total: 0,
  of_provider: 0,
  of_owner: null,
  quota: null,
  local: null,
  candidates: null,
  replay: null,
};

type Asked = { values?: readonly unknown[] };
const asked = ({ values = [] }: Asked) =>
  JSON.parse((values[0] as { json: string }).json) as { row?: { image: string } }[];

/** `guard` answers the statement that writes. */
function given(guard: (wishes: { row?: { image: string } }[], call: number) => unknown[]) {
  const clock = fakeClock();
  const calls: number[] = [];
  const work = {
    read: async (statement: Asked) => asked(statement).map(() => FACTS),
    once: async (statement: Asked) => {
      const wishes = asked(statement);
      calls.push(wishes.length);
      return guard(wishes, calls.length);
    },
    write: async () => [{ taken: 0 }],
  } as unknown as Work;
  const numbering = new Numbering(work, clock, () => {});
  return { calls, reserve: reserving({ work, clock, ids: fakeDeps().ids, numbering }) };
}

it('decides again on an order that was denied because of one that was then not admitted', async () => {
  // The key of the first one was claimed in between.
  const replay = { n: 0, kind: 'replay', sandbox_id: 'sb-1', fingerprint: 'f', response: null };
  const { calls, reserve } = given((_, call) => (call > 1 ? [{ n: 0, kind: 'reserved' }] : [replay]));
  const order = { limits: { ...NO_CAP, max_sandboxes: 1 }, events: [] };
  const claim = { scope: 's', key: 'k', fingerprint: 'f' };
  const first = reserve({ ...order, sandbox: sandboxRecord(), claim });
  const second = reserve({ ...order, sandbox: sandboxRecord() });
  expect([(await first).kind, (await second).kind]).toEqual(['replay', 'reserved']);
  expect(calls).toEqual([1, 1]);
});

it('writes each alone when one of several cannot be written', async () => {
  const { calls, reserve } = given((wishes) => {
    if (wishes.some(({ row }) => row?.image === 'bad')) throw new ServiceError('internal', 'bad');
    return wishes.map((_, n) => ({ n, kind: 'reserved' }));
  });
  const order = (image: string) => ({ limits: NO_CAP, events: [], sandbox: sandboxRecord({ image }) });
  const made = await Promise.allSettled(['a', 'bad', 'b'].map((image) => reserve(order(image))));
  expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(calls).toEqual([3, 1, 1, 1]);
});
