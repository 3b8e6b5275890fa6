// The operations of a campaign's clients. Each records its answers in the journal and fails when the server fails.
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { readLedger } from '../../test/support/checks/ledger.ts';
import { type Answer, type Api, api } from '../../test/support/servers/api.ts';
import type { TestServer } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';
import type { Step } from '../failpoints/point.ts';
import { changing, type Journal } from './journal.ts';
import { injectFault } from './runtime-faults.ts';

/** The limit for an agent that answers no pings, on a busy machine. */
const NOTICED_MS = 60_000;

export interface Client {
  server: TestServer;
  /** One client at a time acts as it. */
  owner: string;
  journal: Journal;
  roll: (sides: number) => number;
  /** The name of the template with prewarmed sandboxes. */
  image: string;
}

/**
 * Refused (a setup that fails is a bad request), busy, not there, not to be had of a worker, or failing as a server may that
 * was told to fail.
 */
const ORDINARY = [400, 404, 409, 429, 500, 501, 502, 503, 504];
async function asked<T>(
  client: Client,
  [method, path, body]: [string, string, unknown?],
  headers: Record<string, string> = {},
): Promise<Answer<T>> {
  const speaker: Api = api(client.server.url, { 'x-user-id': client.owner });
  const answer = await speaker.call<T>(method, path, body, headers);
  const isKnown = answer.status < 300 || ORDINARY.includes(answer.status);
  if (!isKnown)
    client.journal.surprises.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
}

/** One of the client's own that still should be there. */
function own({ journal, owner, roll }: Client): string {
  const ids = [...journal.given].filter(([, one]) => one.owner === owner && !one.mayEnd).map(([id]) => id);
  return ids[roll(Math.max(1, ids.length))] ?? 'sb-nobody';
}

async function spawn(client: Client, path: string, body: object, key?: string): Promise<void> {
  const { journal, owner } = client;
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  const { status, body: made } = await asked<Sandbox>(client, ['POST', path, body], headers);
  if (status !== 201) return;
  if (key !== undefined) journal.keyed.set(key, (journal.keyed.get(key) ?? new Set()).add(made.id));
  else if (journal.given.has(made.id)) journal.surprises.push(`${made.id} was given twice`);
  if (!journal.given.has(made.id))
    journal.given.set(made.id, { owner, mayEnd: false, hasEnded: false, expires_at: made.expires_at });
  await named(client, made.id);
}

/** Each holds its own name, so that one that is another's is known. */
async function named(client: Client, id: string): Promise<void> {
  const command = `cat name 2>/dev/null || { echo ${id} > name; cat name; }`;
  const { status, body } = await asked<{ stdout: string }>(client, [
    'POST',
    `/sandboxes/${id}/exec`,
    { command },
  ]);
  if (status === 200 && !['', `${id}\n`].includes(body.stdout))
    client.journal.surprises.push(`${id} holds ${body.stdout}`);
}

async function destroy(client: Client, id: string): Promise<void> {
  const given = client.journal.given.get(id);
  if (given) given.mayEnd = true;
  const { status } = await asked(client, ['DELETE', `/sandboxes/${id}`]);
  if (given && status === 200) given.hasEnded = true;
}

async function extend(client: Client): Promise<void> {
  const id = own(client);
  const ttl = `${60 + client.roll(60)}m`;
  const { status, body } = await asked<Sandbox>(client, ['POST', `/sandboxes/${id}/extend`, { ttl }]);
  const given = client.journal.given.get(id);
  if (given && status === 200 && body.expires_at > given.expires_at) given.expires_at = body.expires_at;
}

/** Its first process ends behind the server's back. */
async function crash(client: Client): Promise<void> {
  const id = own(client);
  const given = client.journal.given.get(id);
  if (!given) return;
  given.mayEnd = true;
  injectFault(client.server, id, 'kill');
  await named(client, id);
}

/** Its first process says nothing until that is noticed. */
async function hush(client: Client): Promise<void> {
  const id = own(client);
  if (!client.journal.given.has(id)) return;
  injectFault(client.server, id, 'pause');
  const isKnown = () =>
    readLedger(client.server.home).live.some((row) => row.id === id && row.state === 'unhealthy');
  try {
    await Promise.all([named(client, id), until('its silence to be noticed', isKnown, NOTICED_MS)]);
  } finally {
    injectFault(client.server, id, 'unpause');
  }
  await named(client, id);
}

/** One that a client has is never the same twice: the number is the memory. */
async function template(client: Client, isOnly: boolean): Promise<void> {
  const { journal, owner, roll, image } = client;
  const name = isOnly ? 'warm' : `t-${owner}`;
  const memory_mb = 64 + roll(64);
  const facts = { name, image, memory_mb, prewarm: isOnly ? 1 : 0 };
  const known = journal.templates.get(name) ?? new Set([undefined]);
  if (!isOnly && roll(3) === 0) {
    await changing(journal.templates, { name, next: undefined }, () =>
      must(asked(client, ['DELETE', `/templates/${name}`]), ABSENT),
    );
    return;
  }
  const call: [string, string, unknown] = known.has(undefined)
    ? ['POST', '/templates', facts]
    : ['PUT', `/templates/${name}`, facts];
  await changing(journal.templates, { name, next: memory_mb }, () => must(asked(client, call)));
}

async function quota(client: Client): Promise<void> {
  const { journal, owner, roll } = client;
  const max_sandboxes = 2 + roll(2);
  const isRemoved = roll(3) === 0;
  const next = isRemoved ? undefined : max_sandboxes;
  const path = `/quotas/${owner}`;
  await changing(journal.quotas, { name: owner, next }, () =>
    isRemoved
      ? must(asked(client, ['DELETE', path]), ABSENT)
      : must(asked(client, ['PUT', path, { max_sandboxes }])),
  );
}

/** Throws where nothing was confirmed. */
async function must(answer: Promise<Answer<unknown>>, also?: number): Promise<void> {
  const { status } = await answer;
  if (status >= 300 && status !== also) throw new Error(`it answered ${status}`);
}
/** What is not there has been removed. */
const ABSENT = 404;

async function drain(client: Client): Promise<void> {
  for (const wanted of [true, false])
    await asked(client, ['POST', '/admin/workers/local/drain', { drain: wanted }]);
}

export const OPERATIONS = {
  spawn: (client: Client) => spawn(client, '/sandboxes', { ttl: '1h' }),
  repeat: async (client: Client) => {
    const key = `k-${client.owner}-${client.roll(1_000_000)}`;
    for (let n = 0; n < 2; n++) await spawn(client, '/sandboxes', { ttl: '1h' }, key);
  },
  take: (client: Client) => spawn(client, '/templates/warm/spawn', { ttl: '1h' }),
  destroy: (client: Client) => destroy(client, own(client)),
  use: (client: Client) => named(client, own(client)),
  extend,
  crash,
  hush,
  spoil: (client: Client) => spawn(client, '/templates/bad/spawn', {}),
  template: (client: Client) => template(client, false),
  warm: (client: Client) => template(client, true),
  quota,
  drain,
  audited: async (client: Client) => void (await asked(client, ['GET', '/admin/metrics'])),
} as const;
export type OperationName = keyof typeof OPERATIONS;

/** Operations that pass a step, in their order. */
export const OPERATIONS_FOR: Readonly<Record<Step, readonly OperationName[]>> = {
  'sandboxes.reserve': ['spawn', 'destroy'],
  'sandboxes.take': ['take', 'destroy'],
  'sandboxes.running': ['spawn', 'destroy'],
  'sandboxes.destroying': ['spawn', 'destroy'],
  'sandboxes.destroyed': ['spawn', 'destroy'],
  'sandboxes.error': ['spoil'],
  'sandboxes.unhealthy': ['spawn', 'hush', 'destroy'],
  'sandboxes.extend': ['spawn', 'extend', 'extend', 'extend', 'destroy'],
  'provider.create': ['repeat', 'destroy'],
  'provider.destroy': ['spawn', 'destroy'],
  'provider.list': ['spawn', 'use', 'destroy'],
  'reply.spawn': ['repeat', 'destroy'],
  'reply.destroy': ['spawn', 'destroy'],
  'templates.create': ['template'],
  'templates.replace': ['template'],
  'templates.delete': ['template'],
  'quotas.put': ['quota'],
  'quotas.delete': ['quota'],
  'warm.reserve': ['warm', 'take', 'destroy'],
  'warm.ready': ['warm', 'take', 'destroy'],
  'warm.remove': ['warm', 'use'],
  'pool.running': ['spawn', 'destroy'],
  'pool.retire': ['spawn', 'destroy'],
  'pool.remove': ['spawn', 'destroy'],
  'workers.drain': ['drain'],
  'workers.heard': ['spawn', 'destroy'],
  'leases.renew': ['spawn', 'use', 'use', 'use', 'destroy'],
  'events.append': ['spawn', 'use', 'destroy'],
  'audit.append': ['audited'],
  'sandboxes.purgeEnded': ['spawn', 'destroy'],
  'idempotency.prune': ['repeat', 'destroy'],
  'events.prune': ['spawn', 'use', 'destroy'],
  'audit.purge': ['audited', 'use'],
};
