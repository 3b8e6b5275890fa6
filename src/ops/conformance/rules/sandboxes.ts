// The life of sandboxes: made once, found again, ended for good.

import { broken, type ConformanceClient, DONE, mustBe, type Rule, type RuleGroup } from '../client.ts';

const MADE = ['sandboxes.spawn'];
const NONE = 'none-of-this-name';

const at = (id: string) => `/sandboxes/${encodeURIComponent(id)}`;
const stateAt = (id: string) => `/status/${encodeURIComponent(id)}`;

const SPAWN: Rule = {
  id: 'sandboxes.spawn',
  title: 'POST /spawn creates a sandbox',
  deadlineMs: 120_000,
  look: async (client, signal) => {
    client.sandbox = await client.spawn(client.spawnBody(), signal);
    return 'The sandbox has a valid id.';
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
  title: 'GET /status reports that the sandbox runs',
  needs: MADE,
  look: async (client, signal) => {
    const found = (await client.json({ method: 'GET', path: stateAt(client.sandbox), signal })) as StateReply;
    if (found?.id !== client.sandbox) throw broken('id is not the requested one.');
    if (found.state !== 'running') throw broken('state is not running.');
    return 'The sandbox is running.';
  },
};

const UNKNOWN: Rule = {
  id: 'sandboxes.unknown',
  title: 'GET /status of an unknown sandbox returns 404',
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
  title: 'GET /sandboxes lists the sandbox',
  needs: MADE,
  optional: true,
  look: async (client, signal) => {
    const found = (await ours(client, signal)).find(({ id }) => id === client.sandbox);
    if (!found) throw broken('The list does not contain the sandbox with its metadata.');
    if (found.state !== 'running') throw broken('The state is not running.');
    if (Number.isNaN(Date.parse(`${found.created_at}`))) throw broken('created_at is not an ISO 8601 time.');
    return 'The metadata, the state and the time are correct.';
  },
};

/** Those with our label. */
async function ours(client: ConformanceClient, signal: AbortSignal): Promise<StateReply[]> {
  const reply = await client.ask({ method: 'GET', path: '/sandboxes', signal });
  if (reply.status !== 200) await reply.discard();
  if ([404, 405, 501].includes(reply.status))
    throw broken('The backend does not list sandboxes, so lost sandboxes cannot be cleaned up.');
  mustBe(reply.status, [200]);
  const list = await reply.json();
  if (!Array.isArray(list)) throw broken('The response is not a list.');
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
  title: 'DELETE ends the sandbox and its commands',
  needs: ['sandboxes.spawn', 'sandboxes.status', 'sandboxes.unknown', 'commands.status'],
  look: async (client, signal) => {
    const { over } = await busy(client, signal);
    mustBe(await client.status({ method: 'DELETE', path: at(client.sandbox), signal }), DONE);
    const late = client.clock.sleep(client.patienceMs, signal).then(() => 'late');
    if ((await Promise.race([over.then(() => 'over'), late])) === 'late')
      throw broken('A command in the sandbox still runs.');
    const status = await client.status({ method: 'GET', path: stateAt(client.sandbox), signal });
    if (status !== 404) throw broken(`GET /status still returns ${status}.`);
    client.forget(client.sandbox);
    return 'The sandbox and its command have ended.';
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
  title: 'DELETE of an ended sandbox returns 404 or success',
  look: async (client, signal) => {
    for (const id of [NONE, ...(client.sandbox === '' ? [] : [client.sandbox])])
      mustBe(await client.status({ method: 'DELETE', path: at(id), signal }), [...DONE, 404]);
    return 'DELETE can be repeated.';
  },
};

const LEFT: Rule = {
  id: 'end.nothing_left',
  title: 'GET /sandboxes lists no leftovers',
  needs: ['sandboxes.list', 'end.destroy'],
  look: async (client, signal) => {
    const left = (await ours(client, signal)).length;
    if (left > 0) throw broken(`The list still contains ${left} sandboxes of this test.`);
    return 'The list contains no sandboxes of this test.';
  },
};

export const END: RuleGroup = {
  id: 'end',
  title: 'Ending',
  chapter: 'Sandboxes',
  rules: [DESTROY, AGAIN, LEFT],
};

export const REACH: RuleGroup = {
  id: 'reach',
  title: 'Reachability',
  chapter: 'Sandboxes',
  rules: [
    {
      id: 'reach.health',
      title: 'GET /health responds',
      look: async (client, signal) => {
        mustBe(await client.status({ method: 'GET', path: '/health', signal }), DONE);
        return 'The backend responds.';
      },
    },
    {
      id: 'reach.key',
      title: 'A wrong key returns 401',
      needs: ['reach.health'],
      look: async (client, signal) => {
        if (client.config.api_key === undefined)
          throw broken('No key is configured, so everyone has access.');
        const reply = await client.askAsStranger({ method: 'GET', path: '/status/none', signal });
        await reply.discard();
        mustBe(reply.status, [401]);
        return 'Status 401.';
      },
    },
  ],
};
