// Who may do what with which key: every route by every kind of key under several settings, in one table. The keys of the
// configuration alone, and odd combinations of headers, are in http-access.test.ts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tally } from '../../proof/tally.ts';
import type { KeyRing } from '../../src/control/keys/key-ring.ts';
import { keyHash } from '../../src/domain/key-text.ts';
import type { RouteId } from '../../src/http/paths.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import type { Config } from '../../src/schema/config.ts';
import type { KeyScope } from '../../src/schema/key-words.ts';
import type { KeyRecord } from '../../src/store/seam/keys.ts';
import { askSample, ROUTE_IDS, SAMPLES } from '../support/checks/route-samples.ts';
import { keyRecord } from '../support/records.ts';
import { ADMIN_KEY, API_KEY, startHttp, type TestHttp } from '../support/servers/http-server.ts';

const PREVIOUS_API = 'previous-api-key-0123456789abcdef0123456789';
const PREVIOUS_ADMIN = 'previous-admin-key-0123456789abcdef01234567';
const WORKER_TOKEN = 'worker-token-0123456789abcdef0123456789';
const PAST = '2020-01-01T00:00:00.000Z';

const scoped = (scopes: KeyScope[], facts: Partial<KeyRecord> = {}) => ({ scopes, ...facts });
/** By the text of the key. */
const NAMED: Record<string, Partial<KeyRecord>> = {
  svc_read: scoped(['read']),
  svc_use: scoped(['use']),
  svc_admin: scoped(['admin']),
  svc_ann_read: scoped(['read'], { owner_id: 'ann' }),
  svc_ann_use: scoped(['use'], { owner_id: 'ann' }),
  svc_expired: scoped(['admin'], { expires_at: PAST }),
  svc_revoked: scoped(['admin'], { revoked_at: PAST, revoked_by: 'x' }),
  svc_new: scoped(['use'], {
    ...{ previous_hash: keyHash('svc_before'), previous_until: '2999-01-01T00:00:00.000Z' },
  }),
  svc_newer: scoped(['use'], { previous_hash: keyHash('svc_replaced'), previous_until: PAST }),
};

const WHO: Record<string, Record<string, string>> = {
  nobody: {},
  wrong: { 'x-api-key': 'svc_wrong' },
  api: { 'x-api-key': API_KEY },
  'previous api': { 'x-api-key': PREVIOUS_API },
  admin: { 'x-admin-api-key': ADMIN_KEY },
  'previous admin': { 'x-admin-api-key': PREVIOUS_ADMIN },
  read: { 'x-api-key': 'svc_read' },
  use: { 'x-api-key': 'svc_use' },
  'named admin': { 'x-api-key': 'svc_admin' },
  'named admin in X-Admin-API-Key': { 'x-admin-api-key': 'svc_admin' },
  'use in X-Admin-API-Key': { 'x-admin-api-key': 'svc_use' },
  "ann's read": { 'x-api-key': 'svc_ann_read' },
  "ann's use": { 'x-api-key': 'svc_ann_use' },
  "ann's use for ann": { 'x-api-key': 'svc_ann_use', 'x-user-id': ' ann ' },
  "ann's use for bob": { 'x-api-key': 'svc_ann_use', 'x-user-id': 'bob' },
  expired: { 'x-api-key': 'svc_expired' },
  revoked: { 'x-api-key': 'svc_revoked' },
  replaced: { 'x-api-key': 'svc_replaced' },
  'before, in the overlap': { 'x-api-key': 'svc_before' },
  "use, ann's use in X-Admin-API-Key": { 'x-api-key': 'svc_use', 'x-admin-api-key': 'svc_ann_use' },
  "ann's use, named admin": { 'x-api-key': 'svc_ann_use', 'x-admin-api-key': 'svc_admin' },
  'worker token': { 'x-worker-id': 'w', 'x-worker-token': WORKER_TOKEN },
};

const ONE = { enabled: true, api_key: API_KEY, api_key_previous: PREVIOUS_API };
const BOTH = { ...ONE, admin_api_key: ADMIN_KEY, admin_api_key_previous: PREVIOUS_ADMIN };
const SETUPS: Record<string, Partial<Config['auth']>> = {
  'both keys': BOTH,
  'both keys, owners': { ...BOTH, enforce_owner: true },
  'both keys, quotas by admins': { ...BOTH, quota_writes: 'admin' },
  'one key': ONE,
  'one key, owners': { ...ONE, enforce_owner: true },
  off: {},
  'off, owners': { enforce_owner: true },
};

/** What a route is for a key. `look`: reads, of nobody in particular. `see`: reads of an owner. `do`: the rest. */
type Kind = 'look' | 'see' | 'do' | 'quota' | 'admin';

const LOOK: RouteId[] = [
  ...([
    'listQuotas',
    'quotaSummary',
    'poolStatus',
    'listSnapshots',
    'listImages',
    'getImage',
    'listWorkers',
    'getWorker',
  ] as const),
  'egressGroups',
  ...(['createSession', 'createLoginCode', 'currentIdentity', 'renewSession', 'endSession'] as const),
  ...(['listProviders', 'getProvider', 'metrics', 'metricsText', 'diagnostics'] as const),
];
const SEE: RouteId[] = [
  ...(['admitSandbox', 'listSandboxes', 'getSandbox', 'listExecs', 'getExec', 'execOutput'] as const),
  ...([
    'sandboxLogs',
    'sandboxUsage',
    'listPorts',
    'linkFile',
    'liveUsage',
    'ownerUsage',
    'ownerUsageSandboxes',
    'readFile',
    'getArchive',
    'listFiles',
    'statFile',
    'globFiles',
  ] as const),
  'listTemplates',
  ...(['getTemplate', 'getQuota', 'quotaUsage', 'checkQuota', 'events'] as const),
  ...(['checkEgress', 'getEgress', 'egressLog', 'suggestEgress'] as const),
];
const DO: RouteId[] = [
  ...([
    'spawnSandbox',
    'pruneSandboxes',
    'deleteExpiredSandboxes',
    'destroySandbox',
    'extendSandbox',
  ] as const),
  ...(['exec', 'execSocket', 'signalExec', 'createPreview', 'writeFile', 'putFile', 'removeFile'] as const),
  'putArchive',
  ...(['runCode', 'listCodeContexts', 'createCodeContext'] as const),
  ...(['restartCodeContext', 'removeCodeContext'] as const),
  ...(['moveFile', 'chmodFile', 'makeDirectory', 'createTemplate', 'updateTemplate'] as const),
  ...(['deleteTemplate', 'spawnTemplate', 'putEgress'] as const),
];
const QUOTA: RouteId[] = ['putQuota', 'deleteQuota'];

function kindOf(id: RouteId): Kind | 'open' | 'coded' | 'worker' {
  const { kind } = SAMPLES[id];
  if (kind === 'open' || kind === 'coded' || kind === 'worker' || kind === 'admin') return kind;
  const lists: [Kind, RouteId[]][] = [
    ...([
      ['look', LOOK],
      ['see', SEE],
      ['do', DO],
      ['quota', QUOTA],
    ] as [Kind, RouteId[]][]),
  ];
  const found = lists.filter(([, ids]) => ids.includes(id));
  expect([id, found.length]).toEqual([id, 1]);
  return found[0]![0];
}

/** A status for each of WHO in its order; `in` is let in. */
const TABLE: Record<string, Record<Kind, string>> = {
  //       nobody wrong api papi adm padm read use nadm nadmA useA  annR annU annU= annU! exp rev rep bef two  annU+adm worker
  'both keys': {
    look: '  401  401  in  in  in  in   in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    see: '   401  401  in  in  in  in   in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    do: '    401  401  in  in  in  in   403  in  in   in   401   403  in   in   403   401 401 401 in  in   in   401',
    quota:
      ' 401  401  in  in  in  in   403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
    admin:
      ' 401  401  403 403 in  in   403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
  },
  'both keys, owners': {
    look: '  401  401  in  in  in  in   in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    see: '   401  401  400 400 in  in   400  400 in   in   401   in   in   in   403   401 401 401 400 400  in   401',
    do: '    401  401  400 400 in  in   403  400 in   in   401   403  in   in   403   401 401 401 400 400  in   401',
    quota:
      ' 401  401  400 400 in  in   403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
    admin:
      ' 401  401  403 403 in  in   403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
  },
  'both keys, quotas by admins': {
    look: '  401  401  in  in  in  in   in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    see: '   401  401  in  in  in  in   in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    do: '    401  401  in  in  in  in   403  in  in   in   401   403  in   in   403   401 401 401 in  in   in   401',
    quota:
      ' 401  401  403 403 in  in   403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
    admin:
      ' 401  401  403 403 in  in   403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
  },
  'one key': {
    look: '  401  401  in  in  401 401  in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    see: '   401  401  in  in  401 401  in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    do: '    401  401  in  in  401 401  403  in  in   in   401   403  in   in   403   401 401 401 in  in   in   401',
    quota:
      ' 401  401  in  in  401 401  403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
    admin:
      ' 401  401  in  in  401 401  403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
  },
  'one key, owners': {
    look: '  401  401  in  in  401 401  in   in  in   in   401   in   in   in   403   401 401 401 in  in   in   401',
    see: '   401  401  400 400 401 401  400  400 in   in   401   in   in   in   403   401 401 401 400 400  in   401',
    do: '    401  401  400 400 401 401  403  400 in   in   401   403  in   in   403   401 401 401 400 400  in   401',
    quota:
      ' 401  401  400 400 401 401  403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
    admin:
      ' 401  401  in  in  401 401  403  403 in   in   401   403  403  403  403   401 401 401 403 403  in   401',
  },
  off: {
    look: '  in   in   in  in  in  in   in   in  in   in   in    in   in   in   403   in  in  in  in  in   in   in',
    see: '   in   in   in  in  in  in   in   in  in   in   in    in   in   in   403   in  in  in  in  in   in   in',
    do: '    in   in   in  in  in  in   403  in  in   in   in    403  in   in   403   in  in  in  in  in   in   in',
    quota:
      ' in   in   in  in  in  in   403  403 in   in   in    403  403  403  403   in  in  in  403 403  in   in',
    admin:
      ' in   in   in  in  in  in   403  403 in   in   in    403  403  403  403   in  in  in  403 403  in   in',
  },
  'off, owners': {
    look: '  in   in   in  in  in  in   in   in  in   in   in    in   in   in   403   in  in  in  in  in   in   in',
    see: '   400  400  400 400 400 400  400  400 in   in   400   in   in   in   403   400 400 400 400 400  in   400',
    do: '    400  400  400 400 400 400  403  400 in   in   400   403  in   in   403   400 400 400 400 400  in   400',
    quota:
      ' 400  400  400 400 400 400  403  403 in   in   400   403  403  403  403   400 400 400 403 403  in   400',
    admin:
      ' in   in   in  in  in  in   403  403 in   in   in    403  403  403  403   in  in  in  403 403  in   in',
  },
};

const cells = (row: string) => row.trim().split(/ +/);

describe('the table', () => {
  it('has a cell for every kind of key in every row', () => {
    expect(Object.keys(TABLE)).toEqual(Object.keys(SETUPS));
    for (const row of Object.values(TABLE).flatMap((rows) => Object.values(rows)))
      expect(cells(row)).toHaveLength(Object.keys(WHO).length);
  });

  it('agrees with the scopes of the routes', () => {
    const scopes = { look: 'read', see: 'read', do: 'use', quota: 'admin', admin: 'admin' };
    for (const { id, scope } of ROUTES) {
      const kind = kindOf(id);
      expect([id, scope]).toEqual([
        id,
        kind === 'open' || kind === 'coded' || kind === 'worker' ? undefined : scopes[kind],
      ]);
    }
  });
});

describe.each(Object.keys(SETUPS))('with %s, every route by every kind of key', (setup) => {
  const auth = { ...SETUPS[setup]!, worker_token: WORKER_TOKEN };
  let target: TestHttp;
  beforeAll(async () => {
    target = await startHttp({ auth });
    target.control.fileMap.set('/f', Buffer.from('x'));
    const ring = target.control.namedKeys as KeyRing;
    for (const [text, facts] of Object.entries(NAMED))
      ring.put(keyRecord({ ...facts, name: text.replace('svc_', ''), hash: keyHash(text) }));
  });
  afterAll(() => target.server.close(0));

  it.each(Object.keys(WHO).map((who, column) => [who, column] as const))('%s', async (who, column) => {
    const wrong: string[] = [];
    for (const id of ROUTE_IDS) {
      const kind = kindOf(id);
      const isWorker = who === 'worker token';
      const row = kind === 'open' || kind === 'coded' || kind === 'worker' ? undefined : TABLE[setup]![kind];
      const expected = row ? cells(row)[column] : kind === 'worker' && !isWorker ? '401' : 'in';
      target.control.asked.length = 0;
      const { status } = await askSample(target.base, id, WHO[who]!);
      const found = [200, 201, 202, 404, 409, 426].includes(status) ? 'in' : String(status);
      if (kind === 'coded') {
        // Keys neither help nor harm.
        if (status !== 401) wrong.push(`${id}: ${status} instead of 401`);
        continue;
      }
      if (found !== expected) wrong.push(`${id}: ${status} instead of ${expected}`);
      if (found !== 'in') expect(target.control.asked).toEqual([]);
      const caller = target.control.asked[0]?.caller;
      if (!caller || kind === 'worker') continue;
      const isAnns = who.startsWith("ann's") && !who.includes('admin');
      expect([caller.owner, caller.bound]).toEqual(isAnns ? ['ann', true] : [undefined, undefined]);
      expect(caller.actor).toMatch(
        /^(?:(?:api|api_previous|admin|admin_previous):X-(?:Admin-)?API-Key|key:\w+|anonymous)$/,
      );
      expect(JSON.stringify(caller)).not.toContain('svc_');
    }
    tally('authorization', 'every route × kind of key × setting', {
      ...{ trials: ROUTE_IDS.length, wrong: wrong.length },
    });
    expect(wrong).toEqual([]);
  });

  it.each(Object.keys(WHO).map((who, column) => [who, column] as const))(
    '%s, a port by header',
    async (who, column) => {
      target.control.asked.length = 0;
      const headers = { ...WHO[who]!, 'x-sandbox-port': '8080-sb-known0000000' };
      const { status } = await fetch(target.url, { headers });
      // Nothing listens there.
      expect(status === 502 ? 'in' : String(status)).toBe(cells(TABLE[setup]!.do)[column]);
      expect(target.control.asked.map(({ method }) => method)).toEqual(
        status === 502 ? ['previews.open'] : [],
      );
    },
  );
});
