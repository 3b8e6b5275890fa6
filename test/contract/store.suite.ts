// What every store must do, whatever it is made of. A suite as a value: a store's test file calls it with a way to open
// an empty one.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SandboxRecord, Store, Transition } from '../../src/store/store.ts';
import { NO_CAP, sandboxRecord, stamp } from '../support/records.ts';
import { audited } from './store-audit.suite.ts';
import { idempotent } from './store-claims.suite.ts';
import { clocked } from './store-clock.suite.ts';
import { executed } from './store-execs.suite.ts';
import { keys } from './store-keys.suite.ts';
import { pooling } from './store-pool.suite.ts';
import { warm } from './store-prewarmed.suite.ts';
import { admitting, quotas } from './store-quotas.suite.ts';
import { eventful, listing, reading } from './store-reads.suite.ts';
import { alone, sharing } from './store-replicas.suite.ts';
import { runtimesOf } from './store-runtimes.suite.ts';
import { secrets } from './store-secrets.suite.ts';
import { sessions } from './store-sessions.suite.ts';
import { templated } from './store-templates.suite.ts';
import { waiting } from './store-tickets.suite.ts';
import { used } from './store-usage.suite.ts';
import { placing, workers } from './store-workers.suite.ts';
import { extending, reserving, transitioning } from './store-writes.suite.ts';

/** `pool: false` leaves out what a store without pool mode refuses; `shared`: several processes may use it. */
export function storeContract(
  name: string,
  open: () => Promise<Store>,
  { pool = true, shared = false }: { pool?: boolean; shared?: boolean } = {},
): void {
  describe(`${name} store`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    /** A stored row in the state it says. */
    const put = async (facts: Partial<SandboxRecord> = {}) => {
      const record = sandboxRecord(facts);
      await store.sandboxes.reserve({ sandbox: record, limits: NO_CAP, events: [] });
      return record;
    };
    const change = (row: SandboxRecord, patch: Transition['patch'], more: Partial<Transition> = {}) =>
      store.sandboxes.transition({
        id: row.id,
        from: [row.state],
        epoch: row.epoch,
        patch,
        events: [],
        ...more,
      });
    const given = { store: () => store, put, change };

    describe('reserve', () => reserving(given));
    describe('admission', () => admitting(given));
    describe('quotas', () => quotas(given));
    describe('keys', () => keys(given));
    describe('sessions', () => sessions(given));
    describe('secrets', () => secrets(given));
    describe('transition', () => transitioning(given));
    describe('extend, purge', () => extending(given));
    describe('reading', () => reading(given));
    describe('list', () => listing(given));
    describe('templates', () => templated(given));
    describe('warm sandboxes', () => warm(given));
    if (pool) describe('pool', () => pooling(given));
    describe('workers', () => workers(given));
    describe('placing', () => placing(given));
    if (shared) describe('tickets', () => waiting(given));
    if (shared) describe('runtimes', () => runtimesOf(given));
    describe('events', () => eventful(given));
    describe('idempotency', () => idempotent(given));
    describe('clock', () => clocked(given));
    describe('audit', () => audited(given));
    describe('execs', () => executed(given));
    describe('usage', () => used(given));
    describe('replicas', () => (shared ? sharing : alone)(given.store));

    it('has an identity', async () => {
      expect(store.instance.key).toMatch(/^[0-9a-f]{64}$/);
      expect(store.instance.id).not.toBe('');
      expect(store.instance.created_at).toBe(stamp());
    });

    it('closes twice', async () => {
      await store.ping();
      await store.close();
      await store.close();
    });
  });
}

/** What the parts of the suite work with. */
export interface Given {
  store: () => Store;
  put: (facts?: Partial<SandboxRecord>) => Promise<SandboxRecord>;
  change: (
    row: SandboxRecord,
    patch: Transition['patch'],
    more?: Partial<Transition>,
  ) => ReturnType<Store['sandboxes']['transition']>;
}
