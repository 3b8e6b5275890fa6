// Routes of workers: which credentials open them, and that they open nothing else. The whole table of keys and routes is
// http-access.test.ts; what makes a token hold is in the unit tests of domain/worker-access.ts.
import { afterEach, describe, expect, it } from 'vitest';
import { freshToken, HEARTBEAT_SCOPE, mintWorkerToken } from '../../src/domain/worker-token.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { askSample, ROUTE_IDS, SAMPLES } from '../support/checks/route-samples.ts';
import { API_KEY, type HttpOptions, startHttp, type TestHttp } from '../support/servers/http-server.ts';

const KEY = 'k'.repeat(40);
const AUTH = {
  enabled: true,
  api_key: API_KEY,
  worker_signing_key: KEY,
  worker_tokens: { own: 't'.repeat(40) },
};

let http: TestHttp;
afterEach(() => http.server.close(0));
const open = async (options: HttpOptions = {}) => {
  http = await startHttp({ auth: AUTH, ...options });
};
const beat = async (headers: Record<string, string>, id = 'w', body: unknown = {}) => {
  const answer = await fetch(`${http.base}/worker/${id}/heartbeat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return [answer.status, ((await answer.json()) as { code?: string }).code];
};
const tokenOf = (worker_id: string, aud: 'worker:control-plane' | 'worker:rpc' = 'worker:control-plane') =>
  freshToken(KEY, { worker_id, aud, jti: 'j', now: Date.now() });
const as = (id: string, token: string) => ({ 'x-worker-id': id, 'x-worker-token': token });

describe('a worker is known by', () => {
  it('its own token or one signed for it, only on its own path', async () => {
    await open();
    expect(await beat(as('own', AUTH.worker_tokens.own), 'own')).toEqual([200, undefined]);
    expect(await beat(as('w', tokenOf('w')))).toEqual([200, undefined]);
    expect(await beat(as('w', tokenOf('w')), 'x')).toEqual([403, 'forbidden']);
    expect(await beat(as('x', tokenOf('w')), 'x')).toEqual([403, 'forbidden']);
    expect(await beat(as('w', AUTH.worker_tokens.own))).toEqual([401, 'unauthorized']);
    expect(await beat(as('w', tokenOf('w', 'worker:rpc')))).toEqual([401, 'unauthorized']);
    expect(await beat({ 'x-worker-token': tokenOf('w') })).toEqual([401, 'unauthorized']);
    expect(await beat({ 'x-worker-id': 'w' })).toEqual([401, 'unauthorized']);
  });

  it('a token with the scope of heartbeats', async () => {
    await open();
    const now = Math.floor(Date.now() / 1000);
    const payload = {
      worker_id: 'w',
      jti: 'j',
      aud: 'worker:control-plane' as const,
      iat: now,
      exp: now + 60,
    };
    const token = (scopes: string[]) => mintWorkerToken(KEY, { ...payload, scopes });
    expect(await beat(as('w', token([])))).toEqual([403, 'forbidden']);
    expect(await beat(as('w', token(['worker:everything'])))).toEqual([403, 'forbidden']);
    expect(await beat(as('w', token(['worker:everything', HEARTBEAT_SCOPE])))).toEqual([200, undefined]);
  });

  it('nothing when no credential is configured', async () => {
    await open({ auth: { enabled: true, api_key: API_KEY } });
    expect(await beat(as('w', tokenOf('w')))).toEqual([503, 'unavailable']);
    expect(await beat({ 'x-api-key': API_KEY })).toEqual([503, 'unavailable']);
  });
});

describe('what a worker may do', () => {
  it('cannot call other routes, whichever header carries its token', async () => {
    await open({ auth: { ...AUTH, enforce_owner: true, admin_api_key: 'a'.repeat(40) } });
    const token = tokenOf('w');
    const ways = [as('w', token), { 'x-api-key': token }, { 'x-admin-api-key': AUTH.worker_tokens.own }];
    const wrong: string[] = [];
    for (const headers of ways)
      for (const id of ROUTE_IDS) {
        if (['open', 'coded', 'worker'].includes(SAMPLES[id].kind)) continue;
        const { status } = await askSample(http.base, id, headers as Record<string, string>);
        if (status !== 401) wrong.push(`${id}: ${status}`);
      }
    expect(wrong).toEqual([]);
    expect(http.control.asked).toEqual([]);
  });

  it('renews a lease as itself', async () => {
    await open();
    const { status, text } = await askSample(http.base, 'renewLease', as('w', tokenOf('w')), 'sb-1');
    expect([status, JSON.parse(text)]).toMatchObject([200, { lease: { holder_id: 'w', generation: 2 } }]);
    expect(http.control.asked).toMatchObject([{ method: 'workers.renew', args: ['w', 'sb-1', '90s'] }]);
  });

  it('may be a version ahead: unknown fields are ignored, known ones are checked', async () => {
    await open();
    const own = as('w', tokenOf('w'));
    expect(await beat(own, 'w', { status: 'online', moon: 'full' })).toEqual([200, undefined]);
    expect(await beat(own, 'w', { rpc_url: '' })).toEqual([200, undefined]);
    for (const body of [
      { status: 'lost' },
      { rpc_url: 'ftp://h' },
      { rpc_url: 'http://user@h/' },
      { capacity: { vcpus: -1 } },
      { providers: 'userspace' },
      [],
      'text',
    ])
      expect(await beat(own, 'w', body)).toEqual([400, 'bad_request']);
  });
});

describe('guessing', () => {
  it('names providers and capabilities in printable ASCII, because PostgreSQL rows cannot hold all others', async () => {
    await open();
    const [of, odd] = [as('w', tokenOf('w')), ['\0', '\ud800', 'a b', 'é', '', 'x'.repeat(65)]];
    for (const field of ['providers', 'capabilities']) {
      for (const name of odd)
        expect([name, ...(await beat(of, 'w', { [field]: [name] }))]).toEqual([name, 400, 'bad_request']);
      expect(await beat(of, 'w', { [field]: ['userspace/network_none', 'next:v2'] })).toEqual([
        200,
        undefined,
      ]);
    }
  });

  it('counts as a failed attempt of the address, which is then refused for a while', async () => {
    await open({ rate_limit: { enabled: true, burst: 3, requests_per_minute: 1 } });
    const statuses = [];
    for (let i = 0; i < 5; i++) statuses.push((await beat(as('w', `guess-${i}`)))[0]);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    expect(await beat(as('w', tokenOf('w')))).toEqual([429, 'resource_limit']);
  });

  it('does not count heartbeats of a worker', async () => {
    await open({ rate_limit: { enabled: true, burst: 3, requests_per_minute: 1 } });
    for (let i = 0; i < 6; i++) expect((await beat(as('w', tokenOf('w'))))[0]).toBe(200);
  });
});

describe('a worker without a credential', () => {
  const OWN = `svc-worker-own-v1.${'s'.repeat(43)}`;
  const NEAR = { auth: {} };

  it('registers its own secret when only this machine can call', async () => {
    await open(NEAR);
    expect(await beat(as('w', OWN))).toEqual([200, undefined]);
    const { status } = await askSample(http.base, 'renewLease', as('w', OWN), 'sb-1');
    expect(status).toBe(200);
    expect(http.control.asked.map(({ method }) => method)).toEqual(['workers.heartbeat', 'workers.renew']);
  });

  it.each<[string, HttpOptions]>([
    ['with authentication on', { auth: { enabled: true, api_key: API_KEY } }],
    ['with a trusted proxy', { ...NEAR, server: { trusted_proxies: ['10.0.0.1'] } }],
    ['beyond loopback', { ...NEAR, server: { host: '0.0.0.0', allow_insecure: true } }],
  ])('is refused by a server %s', async (_, options) => {
    await open(options);
    expect(await beat(as('w', OWN))).toEqual([503, 'unavailable']);
  });

  it.each([
    { worker_token: 't'.repeat(40) },
    { worker_tokens: { other: 't'.repeat(40) } },
    { worker_signing_key: KEY },
  ])('is refused where a credential is configured: %o', async (auth) => {
    await open({ auth });
    expect(await beat(as('w', OWN))).toEqual([401, 'unauthorized']);
  });

  it.each(['forwarded', 'via', 'x-forwarded-for', 'x-real-ip'])(
    'is refused behind a proxy: %s',
    async (name) => {
      await open(NEAR);
      expect(await beat({ ...as('w', OWN), [name]: '127.0.0.1' })).toEqual([503, 'unavailable']);
    },
  );

  it.each([
    ['short', OWN.slice(0, -1)],
    ['long', `${OWN}s`],
    ['of another form', 's'.repeat(60)],
    ['signed with it', freshToken(OWN, { worker_id: 'w', aud: 'worker:control-plane', jti: 'j', now: 0 })],
  ])('is refused when its secret is %s', async (_, token) => {
    await open(NEAR);
    expect(await beat(as('w', token))).toEqual([503, 'unavailable']);
    expect(await beat({ 'x-worker-token': OWN })).toEqual([503, 'unavailable']);
    expect(await beat(as('w', OWN), 'x')).toEqual([403, 'forbidden']);
    expect(http.control.asked).toEqual([]);
  });

  it('opens no other route', async () => {
    await open({ auth: { admin_api_key: 'a'.repeat(40) } });
    for (const id of ROUTE_IDS.filter((each) => SAMPLES[each].kind === 'admin'))
      for (const headers of [as('w', OWN), { 'x-admin-api-key': OWN }])
        expect([id, (await askSample(http.base, id, headers)).status]).toEqual([id, 401]);
    expect(http.control.asked).toEqual([]);
  });
});

it('only these two routes accept workers', () => {
  expect(ROUTES.filter(({ auth }) => auth === 'worker').map(({ id }) => id)).toEqual([
    'workerHeartbeat',
    'renewLease',
  ]);
});
