// Requests to our own server by `node:http`, read as bytes: what is measured is the server, not a client.
import { Agent, type IncomingMessage, request } from 'node:http';

const agent = new Agent({ keepAlive: true });

export interface RawRequest {
  method: string;
  /** Below `/api/v1`. */
  path: string;
  body?: Buffer;
  /** JSON unless given. */
  type?: string;
}

/** The answer to be read. Throws for a status of 400 or more. */
export function rawRequest(
  address: string,
  { method, path, body, type = 'application/json' }: RawRequest,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { 'content-type': type, 'content-length': body.length };
    request(`${address}/api/v1${path}`, { agent, method, headers })
      .once('response', (answer) => {
        if ((answer.statusCode ?? 500) < 400) resolve(answer);
        else reject(new Error(`${method} ${path}: ${answer.statusCode}`));
      })
      .once('error', reject)
      .end(body);
  });
}

/** The answer to a JSON request. */
export function openStream(address: string, path: string, body: object): Promise<IncomingMessage> {
  return rawRequest(address, { method: 'POST', path, body: Buffer.from(JSON.stringify(body)) });
}
