// The tools of a profile on the server object of the MCP SDK: schemas, progress, and failures that a model can read.
import {
  type CallToolResult,
  fromJsonSchema,
  type JsonSchemaType,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Client } from '../client/client.ts';
import { asServiceError, type ServiceError } from '../domain/errors.ts';
import type { Clock } from '../domain/ports.ts';
import { type HostChecks, hostTools } from './host-tools.ts';
import { failureResult } from './output.ts';
import { INSTRUCTIONS, type Profile, TOOLS } from './profiles.ts';
import { registerPages } from './resources.ts';
import { sandboxId } from './sandbox-tools.ts';
import type { McpSession, Tool } from './tool.ts';

export interface ToolServerDeps {
  profile: Profile;
  client: Client;
  session: McpSession;
  version: string;
  clock: Pick<Clock, 'after'>;
  /** Checks of this machine; absent over HTTP. */
  checks?: HostChecks;
  /** Aborts when the host has disconnected. */
  signal?: AbortSignal;
  /** Called with failures that are faults of ours. */
  onFault(fault: ServiceError): void;
}

const PROGRESS_MS = 5_000;

/** One for each connection, or for each request over HTTP. */
export function toolServer(deps: ToolServerDeps): McpServer {
  const { profile, session, version, checks } = deps;
  const server = new McpServer(
    { name: 'svc', title: 'Sandboxes of svc', version },
    { instructions: INSTRUCTIONS[profile] },
  );
  if (profile === 'operate') registerPages(server);
  const more = profile === 'operate' && checks ? hostTools(checks) : [];
  for (const tool of [...TOOLS[profile], ...more]) {
    const { name, title, description, hints: annotations } = tool;
    const inputSchema = inputOf(tool, session.hasDefault);
    server.registerTool(name, { title, description, inputSchema, annotations }, (args, context) =>
      answer(tool, args, context, deps),
    );
  }
  return server;
}

type Input = ReturnType<typeof fromJsonSchema>;
/** Compiled once: over HTTP there is a server for each request. */
const inputs = { withDefault: new WeakMap<Tool, Input>(), withoutDefault: new WeakMap<Tool, Input>() };

function inputOf(tool: Tool, hasDefault: boolean): Input {
  const known = hasDefault ? inputs.withDefault : inputs.withoutDefault;
  const input = known.get(tool) ?? fromJsonSchema(documentOf(tool, hasDefault));
  known.set(tool, input);
  return input;
}

interface Properties {
  properties: NonNullable<JsonSchemaType['properties']>;
  required?: string[];
}

/** Calls must name their sandbox if the session has none. */
export function documentOf({ input }: Tool, hasDefault: boolean): JsonSchemaType {
  const { properties, required = [] } = input as unknown as Properties;
  const more = !hasDefault && Object.values(properties).includes(sandboxId as never) ? ['sandbox_id'] : [];
  const names = [...new Set([...more, ...required])];
  return { type: 'object', properties, required: names, additionalProperties: false };
}

async function answer(
  tool: Tool,
  args: unknown,
  { mcpReq }: ServerContext,
  { client, session, clock, signal, onFault }: ToolServerDeps,
): Promise<CallToolResult> {
  const ends = signal ? AbortSignal.any([mcpReq.signal, signal]) : mcpReq.signal;
  const stop = reportProgress(mcpReq, clock);
  try {
    return await tool.run(args ?? {}, { client, session, signal: ends });
  } catch (error) {
    const failure = asServiceError(error);
    if (failure.code === 'internal' && !ends.aborted) onFault(failure);
    return failureResult(failure);
  } finally {
    stop();
  }
}

/** A sign every 5 s for hosts that ask for it: they give up on calls that stay silent. */
function reportProgress({ _meta, notify }: ServerContext['mcpReq'], clock: Pick<Clock, 'after'>): () => void {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  const report = () => {
    progress += PROGRESS_MS / 1000;
    const params = { progressToken, progress, message: `Running for ${progress} s.` };
    // A host that disconnects cancels the call, too.
    notify({ method: 'notifications/progress', params }).catch(() => undefined);
    timer = clock.after(PROGRESS_MS, report);
  };
  let timer = clock.after(PROGRESS_MS, report);
  return () => timer.cancel();
}
