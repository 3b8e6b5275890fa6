// P34 of the speed table: how much slower the calls of an ordinary tenant become beside a hostile one, on a server that is set
// up as for production: owners enforced, limits on.
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '../src/client/client.ts';
import { withHome } from './folders.ts';
import { HOSTILE_OWNER, hostileClient } from './hostile-client.ts';
import type { Pair } from './row.ts';
import { withServer } from './server.ts';
import { quantile } from './stats.ts';

export const TENANTS_KEY = 'tenants-key-0123456789abcdef0123456789ab';
export const TENANTS_ENV = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: TENANTS_KEY,
  SVC_AUTH_ADMIN_API_KEY: 'admins-key-0123456789abcdef0123456789abc',
  SVC_AUTH_ENFORCE_OWNER: 'true',
  SVC_AUTH_QUOTA_WRITES: 'admin',
  SVC_RATE_LIMIT_ENABLED: 'true',
  SVC_RATE_LIMIT_REQUESTS_PER_MINUTE: '600',
  SVC_RATE_LIMIT_BURST: '120',
  SVC_DEFAULTS_MAX_SANDBOXES: '40',
  SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: '2',
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '2s',
};
/** The factor by which a call may take longer. */
export const TENANTS_BAR = 2;
/** All of them stay within what the rate limit allows an owner at once. */
const CALLS = 40;
/** Time for the attack to start, and for the queue to drain after it. */
const [WARM_MS, COOL_MS] = [500, 2500];

export type TenantCall = 'get' | 'exec';

export interface Tenants {
  /** p95 in ms of CALLS calls of an ordinary tenant, a new one each time, since one tenant would meet its own limit. */
  quiet(call: TenantCall): Promise<number>;
  /** The same while the other attacks. `meanwhile` comes after the calls. */
  beside(call: TenantCall, meanwhile?: (owner: string, id: string) => Promise<void>): Promise<number>;
  end(): Promise<void>;
}

/** On a server at `address` that was started with TENANTS_ENV. `root`: of the package. */
export async function tenants(root: string, address: string): Promise<Tenants> {
  const as = (user: string) => new Client({ server: address, apiKey: TENANTS_KEY, user });
  const mallory = as(HOSTILE_OWNER);
  const held = [(await mallory.spawn({ ttl: '1h' })).id, (await mallory.spawn({ ttl: '1h' })).id];
  const hostile = hostileClient(root, { address, key: TENANTS_KEY, held });
  let count = 0;
  const withOrdinary = async (work: (ann: Client, owner: string, id: string) => Promise<number>) => {
    count += 1;
    const owner = `ann-${count}`;
    const ann = as(owner);
    const { id } = await ann.spawn({ ttl: '1h' });
    await ann.exec(id, { command: 'true' });
    return work(ann, owner, id).finally(async () => {
      await ann.destroy(id);
      await ann.close();
    });
  };
  return {
    quiet: (call) => withOrdinary((ann, _owner, id) => p95(() => CALL[call](ann, id))),
    beside: (call, meanwhile) =>
      withOrdinary(async (ann, owner, id) => {
        await hostile.attack();
        await pause(WARM_MS);
        const took = await p95(() => CALL[call](ann, id));
        await meanwhile?.(owner, id);
        hostile.rest();
        await pause(COOL_MS);
        return took;
      }),
    end: async () => {
      hostile.end();
      for (const id of held) await mallory.destroy(id);
      await mallory.close();
    },
  };
}

const CALL: Record<TenantCall, (client: Client, id: string) => Promise<unknown>> = {
  get: (client, id) => client.get(id),
  exec: (client, id) => client.exec(id, { command: 'true' }),
};

async function p95(call: () => Promise<unknown>): Promise<number> {
  const took: number[] = [];
  while (took.length < CALLS) {
    const began = performance.now();
    await call();
    took.push(performance.now() - began);
  }
  return quantile(took, 0.95);
}

/** Measures both rows against one server. `root`: of the package. */
export async function withTenants(root: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  const env = { ...TENANTS_ENV, SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
  await withHome((home) =>
    withServer(root, { home, env }, async ({ address }) => {
      const { quiet, beside, end } = await tenants(root, address);
      const pair = (call: TenantCall, name: string): Pair => ({
        id: `P34-${call}`,
        name: `p95 of ${CALLS} ${name} of a tenant, beside a hostile one and without`,
        target: TENANTS_BAR,
        pairs: 7,
        // Both sides at once, as warm-ups are, would be a hostile one beside both.
        warmUps: 0,
        ours: () => beside(call),
        baseline: () => quiet(call),
      });
      await measure(pair('get', 'requests for a sandbox'));
      await measure(pair('exec', 'execs of true'));
      await end();
    }),
  );
}
