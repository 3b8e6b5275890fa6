// The life of sandboxes: made once, found again, ended for good.
import type { ConformanceClient } from '../client.ts';
import { broken, DONE, mustBe, type Rule, type RuleGroup } from '../rule.ts';

const MADE = ['sandboxes.spawn'];
const NONE = 'none-of-this-name';

const at = (id: string) => `/sandboxes/${encodeURIComponent(id)}`;
const stateAt = (id: string) => `/status/${encodeURIComponent(id)}`;

const SPAWN: Rule = {
  id: 'sandboxes.spawn',
  title: 'POST /spawn makes a sandbox',
  deadlineMs: 120_000,
  look: async (client, signal) => {
    client.sandbox = await client.spawn(client.spawnBody(), signal);
    return 'It has a usable id.';
  },
};

const TWICE: Rule = {
  id: 'sandboxes.twice',
  title: 'A second spawn of the same svc_runtime is refused',
  needs: MADE,
  optional: true,
  deadlineMs: 120_000,
  look: async (client, signal) => {
    const body = client.spawnBody();
    const id = await client.spawn(body, signal);
    const reply = await client.ask({ method: 'POST', path: '/spawn', json: body, signal });
    const { id: second } = reply.status < 300 ? ((await reply.json()) as { id?: string }) : {};
    if (second === undefined) await reply.discard();
    for (const each of new Set([id, ...(second ? [second] : [])]))
      await client.status({ method: 'DELETE', path: at(each), signal });
    mustBe(reply.status, [409]);
    return 'Status 409.';
  },
};

const STATUS: Rule = {
  id: 'sandboxes.status',
  title: 'GET /status tells that it runs',
  needs: MADE,
  look: async (client, signal) => {
    const found = (await client.json({ method: 'GET', path: stateAt(client.sandbox), signal })) as StateReply;
    if (found?.id !== client.sandbox) throw broken('id is not the one that was asked for.');
    if (found.state !== 'running') throw broken('state is not running.');
    return 'It is running.';
  },
};

const UNKNOWN: Rule = {
  id: 'sandboxes.unknown',
  title: 'GET /status of none is 404',
  look: async (client, signal) => {
    mustBe(await client.status({ method: 'GET', path: stateAt(NONE), signal }), [404]);
    return 'Status 404.';
  },
};

interface StateReply {
  id?: unknown;
  state?: unknown;
  created_at?: unknown;
  metadata?: Record<string, unknown>;
}

const LIST: Rule = {
  id: 'sandboxes.list',
  title: 'GET /sandboxes lists it',
  needs: MADE,
  optional: true,
  look: async (client, signal) => {
    const found = (await ours(client, signal)).find(({ id }) => id === client.sandbox);
    if (!found) throw broken('It is not among them, or its metadata are not as they were sent.');
    if (found.state !== 'running') throw broken('Its state is not running.');
    if (Number.isNaN(Date.parse(`${found.created_at}`))) throw broken('created_at is no ISO 8601 time.');
    return 'With its metadata, its state and its time.';
  },
};

/** Those with our label. */
async function ours(client: ConformanceClient, signal: AbortSignal): Promise<StateReply[]> {
  const reply = await client.ask({ method: 'GET', path: '/sandboxes', signal });
  if (reply.status !== 200) await reply.discard();
  if ([404, 405, 501].includes(reply.status)) throw broken('There is no list: what is lost stays.');
  mustBe(reply.status, [200]);
  const list = await reply.json();
  if (!Array.isArray(list)) throw broken('It is no list.');
  return list.filter((each: StateReply) => each?.metadata?.svc_instance === client.instance.id);
}

export const SANDBOXES: RuleGroup = {
  id: 'sandboxes',
  title: 'Sandboxes',
  chapter: 'Sandboxes',
  rules: [SPAWN, TWICE, STATUS, UNKNOWN, LIST],
};

const DESTROY: Rule = {
  id: 'end.destroy',
  title: 'DELETE ends it, and what runs in it',
  needs: ['sandboxes.spawn', 'sandboxes.status', 'sandboxes.unknown', 'commands.status'],
  look: async (client, signal) => {
    const { over } = await busy(client, signal);
    mustBe(await client.status({ method: 'DELETE', path: at(client.sandbox), signal }), DONE);
    const late = client.clock.sleep(client.patienceMs, signal).then(() => 'late');
    if ((await Promise.race([over.then(() => 'over'), late])) === 'late')
      throw broken('A command in it was not ended.');
    const status = await client.status({ method: 'GET', path: stateAt(client.sandbox), signal });
    if (status !== 404) throw broken(`Its status is still answered with ${status}.`);
    client.forget(client.sandbox);
    return 'It is gone, and a command in it has ended.';
  },
};

/** Resolves when a command runs; `over` when it has ended, however. */
async function busy(client: ConformanceClient, signal: AbortSignal): Promise<{ over: Promise<void> }> {
  const reply = await client.startExec(['/bin/sh', '-c', 'echo up; sleep 60'], {}, signal);
  const body = reply.body()[Symbol.asyncIterator]();
  await body.next();
  const rest = async () => {
    while (!(await body.next()).done);
  };
  return { over: rest().catch(() => undefined) };
}

const AGAIN: Rule = {
  id: 'end.again',
  title: 'DELETE of what is gone is 404, or success',
  look: async (client, signal) => {
    for (const id of [NONE, ...(client.sandbox === '' ? [] : [client.sandbox])])
      mustBe(await client.status({ method: 'DELETE', path: at(id), signal }), [...DONE, 404]);
    return 'As often as one likes.';
  },
};

const LEFT: Rule = {
  id: 'end.nothing_left',
  title: 'Nothing is listed any more',
  needs: ['sandboxes.list', 'end.destroy'],
  look: async (client, signal) => {
    const left = (await ours(client, signal)).length;
    if (left > 0) throw broken(`${left} of what was made here are still listed.`);
    return 'None of what was made here.';
  },
};

export const END: RuleGroup = {
  id: 'end',
  title: 'Ending',
  chapter: 'Sandboxes',
  rules: [DESTROY, AGAIN, LEFT],
};
