// Following the decision log of a gate that answers late, as one on a worker does: no line is lost and none comes twice.
import { expect, it } from 'vitest';
import { type EgressPoliciesDeps, egressPolicies } from '../../../../src/control/access/egress.ts';
import { Broadcast } from '../../../../src/domain/broadcast.ts';
import type { EgressLogLine } from '../../../../src/schema/egress.ts';
import { testConfig } from '../../../support/config.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

const line = (host: string, decision: EgressLogLine['decision'] = 'denied') =>
  ({ host, decision, reason: 'not_allowed' }) as EgressLogLine;

it('shows each line once, also those of the time between', async () => {
  const news = new Broadcast<EgressLogLine>();
  const kept = [line('a', 'allowed'), line('b')];
  let answer = () => {};
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const gate = {
    log: async () => {
      // In the log, and on its way to readers.
      kept.push(line('c'));
      news.add({ ...line('c') });
      const lines = structuredClone(kept);
      await asked;
      return lines;
    },
    follow: (signal: AbortSignal) => news.follow(signal),
  };
  const policies = egressPolicies({
    settings: { egress: testConfig({}).egress },
    egress: {},
    gates: { reach: async () => gate },
    find: { usable: async () => ({ egress: { mode: 'proxy' } }) },
    clock: fakeClock(),
  } as unknown as EgressPoliciesDeps);
  const left = new AbortController();
  const lines = await policies.follow('sb', { limit: 2, decision: 'denied' }, {} as never, left.signal);
  const seen: (string | undefined)[] = [];
  const reading = (async () => {
    for await (const each of lines) {
      seen.push(each?.host);
      if (each?.host === 'e') break;
    }
  })();
  await Promise.resolve();
  news.add(line('d', 'allowed'));
  news.add(line('d'));
  answer();
  news.add(line('e'));
  await reading;
  expect(seen).toEqual(['b', 'c', 'd', 'e']);
  expect(news.readers).toBe(0);
});
