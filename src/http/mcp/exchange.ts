// What the server hands to MCP: one request that the pipeline has let in.
import type { Duplex } from 'node:stream';

export interface McpExchange {
  profile: 'use' | 'operate';
  /** Has the headers only. */
  request: Request;
  /** The body as JSON. */
  body: unknown;
  requestId: string;
  keys: { api: string | undefined; admin: string | undefined };
  /** Headers for calls of the API on behalf of the request: who sent it, and for which owner. */
  forwarded: Record<string, string>;
  /** Opens a connection to the API of this server. */
  connect(): Duplex;
  /** Aborts when the answer is complete or the connection is lost. */
  ended: AbortSignal;
}

/** Answers a request. */
export type ServeMcp = (exchange: McpExchange) => Promise<Response>;
