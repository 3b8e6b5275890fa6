// Tools of the profile `operate`: they look at the service and change nothing. Each one sends GET requests only.
import { Type } from 'typebox';
import { ServiceError } from '../domain/errors.ts';
import type { Event } from '../schema/event.ts';
import { recordResult, textResult } from './output.ts';
import { readPage, remediationOf } from './pages.ts';
import { defineTool, type Tool, type ToolCall } from './tool.ts';

const MOST_EVENTS = 200;
const MOST_LINES = 500;

const id = Type.String({ minLength: 1, maxLength: 128, description: 'Id of the sandbox.' });
const nothing = Type.Object({});
const hints = { readOnlyHint: true } as const;

const health = defineTool({
  name: 'health',
  title: 'Health of the service',
  description: 'Health of the service and its parts, its version, and whether it is ready for spawns.',
  input: nothing,
  hints,
  run: async (_args, call) => {
    const health = await call.client.system.health({ signal: call.signal });
    return recordResult({ health, ready: await readiness(call) });
  },
});

async function readiness({ client, signal }: ToolCall): Promise<unknown> {
  try {
    return await client.system.ready({ signal });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'unavailable') throw error;
    return { ready: false, reason: error.message };
  }
}

const diagnostics = defineTool({
  name: 'diagnostics',
  title: 'Diagnostics',
  description: 'Configuration, limits, numbers and advice in one document. Secrets are masked.',
  input: Type.Object({
    logs: Type.Optional(Type.Boolean({ description: 'Also the newest lines of the log.' })),
  }),
  hints,
  run: async (query, { client, signal }) => recordResult(await client.admin.diagnostics(query, { signal })),
});

const listSandboxes = defineTool({
  name: 'list_sandboxes',
  title: 'List sandboxes of all owners',
  description: 'List sandboxes of all owners, newest first.',
  input: Type.Object({
    state: Type.Optional(Type.String({ description: 'Such as running, queued or failed.' })),
    owner_id: Type.Optional(Type.String()),
    worker_id: Type.Optional(Type.String()),
    include_ended: Type.Optional(Type.Boolean()),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'At most so many; 20.' })),
    cursor: Type.Optional(Type.String({ description: 'next_cursor of the page before.' })),
  }),
  hints,
  run: async ({ limit = 20, ...query }, { client, signal }) =>
    recordResult(await client.page({ ...query, limit } as never, { signal })),
});

const getSandbox = defineTool({
  name: 'get_sandbox',
  title: 'Show a sandbox',
  description: 'Show one sandbox: state, owner, worker, runtime, warnings and why it ended.',
  input: Type.Object({ sandbox_id: id }),
  hints,
  run: async ({ sandbox_id }, { client, signal }) => recordResult(await client.get(sandbox_id, { signal })),
});

const console = defineTool({
  name: 'sandbox_console',
  title: 'Console of a sandbox',
  description: 'Show the last lines of the console of a sandbox.',
  input: Type.Object({
    sandbox_id: id,
    lines: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_LINES, description: 'So many; 100.' })),
  }),
  hints,
  run: async ({ sandbox_id, lines = 100 }, { client, signal }) =>
    textResult((await client.logs(sandbox_id, lines, { signal })).join('\n')),
});

const events = defineTool({
  name: 'recent_events',
  title: 'Recent events',
  description: 'Show the newest stored events, oldest first; by type, sandbox or owner.',
  input: Type.Object({
    type: Type.Optional(Type.String({ description: 'Types separated by commas, such as sandbox.*.' })),
    sandbox_id: Type.Optional(id),
    owner_id: Type.Optional(Type.String()),
    since: Type.Optional(Type.Integer({ minimum: 0, description: 'Only events with a higher id.' })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: MOST_EVENTS, description: 'At most so many; 50.' }),
    ),
  }),
  hints,
  run: async ({ limit = 50, ...query }, { client, signal }) => {
    const newest: Event[] = [];
    for await (const event of client.events({ ...query, follow: false }, { signal })) {
      newest.push(event);
      if (newest.length > limit) newest.shift();
    }
    return recordResult({ events: newest });
  },
});

const metrics = defineTool({
  name: 'metrics',
  title: 'Metrics',
  description:
    'Show metrics as JSON: all groups, or the named ones, such as scheduler (the spawn queue) or rate_limit.',
  input: Type.Object({
    groups: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
  }),
  hints,
  run: async ({ groups }, { client, signal }) => {
    const all = await client.admin.metrics({ signal });
    if (groups === undefined) return recordResult(all);
    const names = Object.keys(all);
    const unknown = groups.filter((name) => !names.includes(name));
    if (unknown.length > 0)
      throw new ServiceError('bad_request', 'There is no such group of metrics.', {
        remedy: `Groups: ${names.join(', ')}.`,
      });
    return recordResult(Object.fromEntries(Object.entries(all).filter(([name]) => groups.includes(name))));
  },
});

const quotas = defineTool({
  name: 'quota_usage',
  title: 'Use of quotas',
  description: 'Show what an owner uses of its quota; without an owner, a summary of all quotas.',
  input: Type.Object({ owner_id: Type.Optional(Type.String({ minLength: 1 })) }),
  hints,
  run: async ({ owner_id }, { client, signal }) =>
    recordResult(
      owner_id === undefined
        ? await client.quotas.summary({ signal })
        : await client.quotas.usage(owner_id, { signal }),
    ),
});

const parts = defineTool({
  name: 'list_runtime_parts',
  title: 'List parts of the runtime',
  description: 'List providers, workers, snapshots or images, or show the pool of virtual machines.',
  input: Type.Object({ kind: Type.Enum(['providers', 'workers', 'pool', 'snapshots', 'images']) }),
  hints,
  run: async ({ kind }, { client, signal }) => {
    const readers = {
      providers: () => client.admin.providers({ signal }),
      workers: () => client.workers.list({ signal }),
      pool: () => client.system.pool({ signal }),
      snapshots: () => client.system.snapshots({ signal }),
      images: async () => (await client.images.page({}, { signal })).images,
    };
    return recordResult({ [kind]: await readers[kind]() });
  },
});

const explain = defineTool({
  name: 'explain_error',
  title: 'Explain an error',
  description: 'Show what the documents say about an error code such as resource_limit, and what to do.',
  input: Type.Object({ code: Type.String({ maxLength: 64, description: 'The code of the answer.' }) }),
  hints,
  run: async ({ code }) => textResult(remediationOf(code)),
});

const document = defineTool({
  name: 'read_document',
  title: 'Read a document',
  description:
    'Read a page of the documents, such as operations or keys, or the page of a lint rule, such as SVC101.',
  input: Type.Object({ page: Type.String({ maxLength: 64 }) }),
  hints,
  run: async ({ page }) => textResult(readPage(page)),
});

export const OPERATE_TOOLS: readonly Tool[] = [
  health,
  diagnostics,
  listSandboxes,
  getSandbox,
  console,
  events,
  metrics,
  quotas,
  parts,
  explain,
  document,
];
