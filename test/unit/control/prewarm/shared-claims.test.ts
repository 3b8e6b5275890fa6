// Claims of prewarmed sandboxes in their rows: only one process may end one, and none that another process has.
import { expect, it } from 'vitest';
import { SharedClaims } from '../../../../src/control/prewarm/shared-claims.ts';
import { PrewarmStock } from '../../../../src/control/runtime/prewarm-stock.ts';
import type { PrewarmedRecord } from '../../../../src/store/seam/prewarmed.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';

function claims(ends: boolean) {
  const asked: unknown[] = [];
  const warm = {
    all: async () => [],
    take: async () => undefined,
    putBack: async () => undefined,
    end: async (...given: unknown[]) => {
      asked.push(given);
      return ends;
    },
  };
  const stock = new PrewarmStock();
  const deps = { ...fakeDeps(), warm, replicas: { isAlive: () => true }, replica: 'r-own' };
  const row = { id: 'sb-ready', state: 'ready' } as PrewarmedRecord;
  const entry = { row, state: 'ready', abort: new AbortController(), making: Promise.resolve() } as const;
  return { shared: new SharedClaims(stock, deps as never), entry: { ...entry }, asked };
}

it('names this process in the row that it may end', async () => {
  const { shared, entry, asked } = claims(true);
  expect(await shared.end(entry)).toBe(true);
  expect(asked).toEqual([['sb-ready', undefined, 'r-own']]);
  expect(entry.row).toMatchObject({ state: 'ending', replica_id: 'r-own' });
});

it('leaves a row as it is that another process has meanwhile', async () => {
  const { shared, entry } = claims(false);
  expect(await shared.end(entry)).toBe(false);
  expect(entry.row).toEqual({ id: 'sb-ready', state: 'ready' });
});
