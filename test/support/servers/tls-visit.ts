// A client of the proxies: any name over TLS to one port of this machine, from an address that is not the proxy's own.
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import WebSocket from 'ws';

export interface Front {
  port: number;
  /** The authority that is trusted, as PEM. */
  ca: string;
}

export interface Asked {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string | Buffer;
  signal?: AbortSignal;
}

/** Of this machine, and of nothing that a test trusts. */
export const VISITOR = '127.0.0.2';

/** The answer once its head is there; its body comes as it comes. */
export function open(
  { port, ca }: Front,
  name: string,
  path: string,
  asked: Asked = {},
): Promise<IncomingMessage> {
  const { method = 'GET', headers = {}, body, signal } = asked;
  return new Promise((resolve, reject) => {
    const asking = request({
      ...{ host: '127.0.0.1', port, ca, servername: name, localAddress: VISITOR, agent: false },
      ...{ method, path, headers: { host: `${name}:${port}`, ...headers }, ...(signal && { signal }) },
    });
    asking.once('response', resolve).on('error', reject);
    asking.end(body);
  });
}

/** The whole of it. */
export async function fetchText(front: Front, name: string, path: string, asked: Asked = {}) {
  const answer = await open(front, name, path, asked);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: await text(answer) };
}

/** Not open yet. */
export function webSocket({ port, ca }: Front, name: string, path: string, headers: object = {}): WebSocket {
  return new WebSocket(`wss://127.0.0.1:${port}${path}`, {
    ...{ ca, servername: name, localAddress: VISITOR },
    headers: { host: `${name}:${port}`, ...headers },
  });
}
