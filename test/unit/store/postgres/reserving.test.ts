// What orders of one call mean for each other: a denial that rests on others is not final, and a failure is that of its own order.
import { expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { Numbering } from '../../../../src/store/postgres/outbox.ts';
import { reserving } from '../../../../src/store/postgres/reserving.ts';
import type { Work } from '../../../../src/store/postgres/work.ts';
import type { SandboxRecord } from '../../../../src/store/store.ts';
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

interface Wish {
  row?: { image: string };
  provider?: string;
}
type Asked = { name: string; values?: readonly unknown[] };
const asked = ({ values = [] }: Asked) => JSON.parse((values[0] as { json: string }).json) as Wish[];

/** `guard` answers the statement that writes; the others answer those that read facts, and workers after a refusal. */
function given(
  guard: (wishes: Wish[], call: number) => unknown[] | Promise<unknown[]>,
  facts: (asks: Wish[]) => unknown[] = (asks) => asks.map(() => FACTS),
  known: () => unknown[] = () => [],
) {
  const clock = fakeClock();
  const calls: number[] = [];
  const work = {
    read: async (statement: Asked) =>
      statement.name === 'admission-known-workers' ? known() : facts(asked(statement)),
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

const reserved = (wishes: Wish[]) => wishes.map((_, n) => ({ n, kind: 'reserved' }));
const order = (record: Partial<SandboxRecord> = {}) => ({
  ...{ limits: NO_CAP, events: [] },
  sandbox: sandboxRecord(record),
});
const CLAIMED = { claim: { scope: 's', key: 'k', fingerprint: 'f' } };
const REPLAYED = {
  ...FACTS,
  replay: JSON.stringify({ sandbox_id: 'sb-1', fingerprint: 'f', response: null }),
};

it.each(['internal', 'conflict'] as const)(
  'writes each alone when one of several fails with %s',
  async (code) => {
    const { calls, reserve } = given((wishes) => {
      if (wishes.some(({ row }) => row?.image === 'bad')) throw new ServiceError(code, 'bad');
      return reserved(wishes);
    });
    const made = await Promise.allSettled(['a', 'bad', 'b'].map((image) => reserve(order({ image }))));
    expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(calls).toEqual([3, 1, 1, 1]);
  },
);

it('decides on each alone when the facts of one of several cannot be read', async () => {
  const { calls, reserve } = given(reserved, (asks) => {
    if (asks.some(({ provider }) => provider === 'bad')) throw new ServiceError('internal', 'bad');
    return asks.map(() => FACTS);
  });
  const made = await Promise.allSettled(['a', 'bad', 'b'].map((provider) => reserve(order({ provider }))));
  expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(calls).toEqual([1, 1]);
});

it('fails all at once when the database is away', async () => {
  let reads = 0;
  const { calls, reserve } = given(reserved, () => {
    reads++;
    throw new ServiceError('unavailable', 'away');
  });
  const made = await Promise.allSettled([reserve(order()), reserve(order())]);
  expect(made).toMatchObject([{ reason: { code: 'unavailable' } }, { reason: { code: 'unavailable' } }]);
  expect([reads, calls]).toEqual([1, []]);
});

it('admits the others when the reason of a denial cannot be read', async () => {
  const { reserve } = given(reserved, undefined, () => {
    throw new ServiceError('unavailable', 'away');
  });
  const placement = {
    ...{ heartbeat_after: '', local: false, remote: true, sessions: false, lease_until: '' },
    demand: { worker_id: 'w9' },
  };
  const nowhere = { ...order(), limits: { ...NO_CAP, placement } };
  const made = await Promise.allSettled([reserve(nowhere), reserve(order())]);
  expect(made).toMatchObject([{ reason: { code: 'unavailable' } }, { value: { kind: 'reserved' } }]);
});

it('answers denials and replays although the statement that writes failed, and before it ends', async () => {
  let failed = () => {};
  const { reserve } = given(
    () =>
      new Promise((_, reject) => {
        failed = () => reject(new ServiceError('unavailable', 'away'));
      }),
    (asks) => asks.map((_, at) => (at === 1 ? REPLAYED : FACTS)),
  );
  const most = { ...order(), limits: { ...NO_CAP, unplaceable: 'provider_unknown' as const } };
  const denied = reserve(most);
  const replayed = reserve({ ...order(), ...CLAIMED });
  const others = Promise.allSettled([
    reserve(order()),
    reserve({ ...order(), limits: { ...NO_CAP, max_sandboxes: 1 } }),
  ]);
  expect([(await denied).kind, (await replayed).kind]).toEqual(['denied', 'replay']);
  failed();
  expect(await others).toMatchObject([
    { reason: { code: 'unavailable' } },
    { reason: { code: 'unavailable' } },
  ]);
});
