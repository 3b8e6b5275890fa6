// One request to the engine by node:http. The configuration alone selects the engine, and redirects are not followed.
import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Endpoint } from './endpoint.ts';
import type { ConnectionKind, EngineRequest } from './engine-answers.ts';

const CONNECTIONS = 64;
const SPARE = 8;

export interface DialOptions {
  connection: ConnectionKind;
  /** Ends the request and the rest of its reply. */
  signal: AbortSignal;
  /** Asks for the raw connection. */
  upgrades?: boolean;
}

export interface EngineRequests {
  /** The head of the reply, whatever its status, or the raw connection after a 101. Rejects with what Node says. */
  dial(order: EngineRequest, options: DialOptions): Promise<IncomingMessage | Socket>;
  /** Closes kept connections. */
  close(): void;
}

/** Opens no connection. */
export function engineRequests({ target, tls }: Endpoint): EngineRequests {
  const agent = (options: http.AgentOptions) =>
    tls ? new https.Agent({ ...tls, ...options }) : new http.Agent(options);
  const agents = {
    kept: agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: SPARE }),
    own: agent({ keepAlive: false }),
  };
  const { request } = tls ? https : http;
  return {
    dial: (order, { connection, signal, upgrades = false }) => {
      const body = bodyOf(order);
      const headers = headersOf(order, body, upgrades);
      const { method } = order;
      return replyTo(
        request({ ...target, agent: agents[connection], method, path: addressOf(order), headers, signal }),
        body,
      );
    },
    close: () => agents.kept.destroy(),
  };
}

function replyTo(sent: ClientRequest, body: Buffer | undefined): Promise<IncomingMessage | Socket> {
  return new Promise((resolve, reject) => {
    sent
      .once('response', resolve)
      .once('upgrade', (_answer, socket, head) => {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      })
      // Also after the reply, which then fails by itself.
      .on('error', reject)
      .end(body);
  });
}

/** Undefined for a request that has none by its method. */
function bodyOf({ method, body }: EngineRequest): Buffer | undefined {
  if (method !== 'POST' && method !== 'PUT') return undefined;
  return Buffer.isBuffer(body) ? body : Buffer.from(body ? JSON.stringify(body) : '');
}

function headersOf(
  order: EngineRequest,
  body: Buffer | undefined,
  upgrades: boolean,
): Record<string, string | number> {
  return {
    ...(body && {
      'Content-Type': Buffer.isBuffer(order.body) ? 'application/x-tar' : 'application/json',
      // Without a length an attach is sent in chunks, and the last chunk could reach the agent.
      'Content-Length': body.length,
    }),
    ...(upgrades && { Connection: 'Upgrade', Upgrade: 'tcp' }),
  };
}

function addressOf({ path, query = {} }: EngineRequest): string {
  const parts = Object.entries(query).map(([name, value]) => {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return `${name}=${encodeURIComponent(text)}`;
  });
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}
