// Tools that create, find and end sandboxes.
import { Type } from 'typebox';
import { ServiceError } from '../domain/errors.ts';
import type { Sandbox, SpawnRequest } from '../schema/sandbox.ts';
import { recordResult } from './output.ts';
import { defineTool, type McpSession, type Tool, type ToolCall } from './tool.ts';

/** The label of sandboxes that were created by MCP. */
export const LABEL = 'mcp';
export const TTL = '30m';
const WORKDIR = '/workspace';
const LISTENING_MS = 2_000;

/** A tool with this argument means the sandbox of the session if the argument is absent. */
export const sandboxId = Type.Optional(
  Type.String({ minLength: 1, maxLength: 128, description: 'Id of the sandbox, starts with sb-.' }),
);

export const environment = Type.Optional(
  Type.Record(Type.String(), Type.String(), { description: 'Environment variables.' }),
);

/** Creates a sandbox that carries the label of the session, which ends it as it says. */
export async function createSandbox(
  request: SpawnRequest,
  session: McpSession,
  { client, signal }: Pick<ToolCall, 'client' | 'signal'>,
): Promise<Sandbox> {
  const metadata = { ...request.metadata, [LABEL]: session.label };
  return client.spawn({ ttl: TTL, ...request, metadata }, { signal });
}

const shown = ({ id, state, image, provider, created_at, expires_at, metadata, warnings }: Sandbox) => ({
  id,
  state,
  image,
  provider,
  created_at,
  expires_at,
  ...(metadata.name !== undefined && { name: metadata.name }),
  ...(warnings !== undefined && { warnings }),
});

const create = defineTool({
  name: 'create_sandbox',
  title: 'Create a sandbox',
  description:
    'Create an isolated Linux sandbox for commands and files. Files belong in /workspace. The sandbox ends after ttl.',
  input: Type.Object({
    template: Type.Optional(Type.String({ description: 'Template to start from; not together with image.' })),
    image: Type.Optional(
      Type.String({ description: 'Image to start; the default of the server without it.' }),
    ),
    ttl: Type.Optional(Type.String({ description: `Lifetime such as 90s, 30m or 2h; ${TTL} without it.` })),
    env: environment,
    network: Type.Optional(Type.Enum(['default', 'none'], { description: 'none: no network at all.' })),
    name: Type.Optional(Type.String({ maxLength: 128, description: 'A name for people, kept as a label.' })),
  }),
  hints: { destructiveHint: false, openWorldHint: false },
  run: async ({ name, ...request }, call) => {
    const metadata = name === undefined ? {} : { metadata: { name } };
    const sandbox = await createSandbox({ ...request, ...metadata }, call.session, call);
    return recordResult({ ...shown(sandbox), workdir: WORKDIR, ends: call.session.ending });
  },
});

const list = defineTool({
  name: 'list_sandboxes',
  title: 'List sandboxes',
  description: 'List sandboxes, newest first: those of this session, or with all those that the key may see.',
  input: Type.Object({
    all: Type.Optional(Type.Boolean({ description: 'Also sandboxes that were created elsewhere.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'At most so many; 20.' })),
  }),
  hints: { readOnlyHint: true },
  run: async ({ all = false, limit = 20 }, { client, signal, session }) => {
    const query = all ? { limit } : { limit, [`metadata.${LABEL}` as const]: session.label };
    const page = await client.page(query, { signal });
    const more = page.next_cursor !== undefined;
    return recordResult({ sandboxes: page.sandboxes.map(shown), more });
  },
});

const extend = defineTool({
  name: 'extend_sandbox',
  title: 'Extend a sandbox',
  description: 'Move the end of a sandbox to now + ttl if that is later.',
  input: Type.Object({ sandbox_id: sandboxId, ttl: Type.String({ description: 'A duration such as 30m.' }) }),
  hints: { destructiveHint: false, idempotentHint: true },
  run: async ({ sandbox_id, ttl }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    return recordResult(shown(await call.client.extend(id, ttl, { signal: call.signal })));
  },
});

const destroy = defineTool({
  name: 'destroy_sandbox',
  title: 'Destroy a sandbox',
  description: 'End a sandbox and delete all that is in it. Also succeeds if it has ended before.',
  input: Type.Object({ sandbox_id: Type.String({ minLength: 1, maxLength: 128 }) }),
  hints: { destructiveHint: true, idempotentHint: true },
  run: async ({ sandbox_id }, { client, signal }) =>
    recordResult({ sandbox_id, ...(await client.destroy(sandbox_id, { signal })) }),
});

const preview = defineTool({
  name: 'preview_url',
  title: 'Link to a port',
  description:
    'Get a link with which a person can open a port of the sandbox in a browser. The result says whether a program answers there.',
  input: Type.Object({ sandbox_id: sandboxId, port: Type.Integer({ minimum: 1, maximum: 65_535 }) }),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  run: async ({ sandbox_id, port }, call) => {
    const id = await call.session.sandbox(sandbox_id, call);
    const link = await call.client.preview(id, port, undefined, { signal: call.signal });
    return recordResult({ sandbox_id: id, port, ...link, answers: await answers(id, port, call) });
  },
});

async function answers(id: string, port: number, { client, signal }: ToolCall): Promise<boolean> {
  try {
    const answer = await client.fetch(id, port, '/', { method: 'HEAD', timeoutMs: LISTENING_MS, signal });
    await answer.body?.cancel();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && !signal.aborted) return false;
    throw error;
  }
}

export const SANDBOX_TOOLS: readonly Tool[] = [create, list, extend, destroy, preview];
