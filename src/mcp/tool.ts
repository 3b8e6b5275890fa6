// A tool of the MCP server is data: a name, texts for the model, the schema of its arguments, and one function that calls
// our API. The API decides who may do what; a tool adds no rule and holds no key.
import type { Static, TObject } from 'typebox';
import type { Client } from '../client/client.ts';
import type { ToolResult } from './output.ts';

export interface ToolCall {
  client: Client;
  /** Aborts when the host cancels the call or disconnects. */
  signal: AbortSignal;
  session: McpSession;
}

/** The sandboxes of one session, or the absence of a session over HTTP. */
export interface McpSession {
  /** Value of the label `mcp` on the sandboxes that it creates. */
  readonly label: string;
  /** Whether calls may leave out `sandbox_id`. */
  readonly hasDefault: boolean;
  /** A sentence for results: when a sandbox that the session creates ends. */
  readonly ending: string;
  /** The sandbox that is meant by `id`, or that of the session, which is created at its first use. Throws `bad_request` without either. */
  sandbox(id: string | undefined, call: Pick<ToolCall, 'client' | 'signal'>): Promise<string>;
}

/** What hosts show and approve by. They enforce nothing. */
export interface ToolHints {
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

export interface Tool {
  name: string;
  title: string;
  description: string;
  input: TObject;
  hints: ToolHints;
  /** Failures are ServiceErrors. */
  run(args: unknown, call: ToolCall): Promise<ToolResult>;
}

/** Checks `run` against the schema of its arguments. */
export function defineTool<Input extends TObject>(
  tool: Omit<Tool, 'input' | 'run'> & {
    input: Input;
    run(args: Static<Input>, call: ToolCall): Promise<ToolResult>;
  },
): Tool {
  return tool as unknown as Tool;
}
