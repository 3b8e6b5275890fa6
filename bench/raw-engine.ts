// The Engine API spoken by hand over its socket: the baseline of the container rows, and nothing that the provider uses.
import { Agent, type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

export interface RawEngine {
  /** JSON in and out. Throws for a status of 400 or more. */
  call<T = unknown>(method: string, path: string, body?: object): Promise<T>;
  /** The raw connection of an attach or an exec start. */
  hijack(path: string, body?: object): Promise<Socket>;
  /** An answer to be read; a body is sent as a tar. */
  stream(method: string, path: string, body?: Buffer | Readable): Promise<IncomingMessage>;
  close(): void;
}

const DEADLINE_MS = 120_000;

export function rawEngine(socketPath: string): RawEngine {
  const agent = new Agent({ keepAlive: true });
  const stream: RawEngine['stream'] = (method, path, body) =>
    answerTo({ socketPath, agent, method, path }, body, 'application/x-tar');
  return {
    call: async (method, path, body) => {
      const payload = body && Buffer.from(JSON.stringify(body));
      const answer = await answerTo({ socketPath, agent, method, path }, payload, 'application/json');
      const text = await textOf(answer);
      return (text === '' ? undefined : JSON.parse(text)) as never;
    },
    hijack: (path, body) => hijacked({ socketPath, agent: false, method: 'POST', path }, body),
    stream,
    close: () => agent.destroy(),
  };
}

type Target = { socketPath: string; agent: Agent | false; method: string; path: string };

async function answerTo(
  target: Target,
  body: Buffer | Readable | undefined,
  type: string,
): Promise<IncomingMessage> {
  const headers = body === undefined ? {} : { 'content-type': type };
  const sent = request({ ...target, headers, signal: AbortSignal.timeout(DEADLINE_MS) });
  const answer = new Promise<IncomingMessage>((resolve, reject) =>
    sent.once('response', resolve).once('error', reject),
  );
  if (body === undefined || Buffer.isBuffer(body)) sent.end(body);
  else body.pipe(sent);
  const head = await answer;
  if ((head.statusCode ?? 500) < 400) return head;
  throw new Error(`${target.method} ${target.path}: ${head.statusCode} ${await textOf(head)}`);
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const part of answer.setEncoding('utf8')) text += part;
  return text;
}

function hijacked(target: Target, body: object | undefined): Promise<Socket> {
  const payload = body === undefined ? '' : JSON.stringify(body);
  const headers = {
    connection: 'Upgrade',
    upgrade: 'tcp',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(payload),
  };
  return new Promise((resolve, reject) => {
    request({ ...target, headers })
      .once('upgrade', (_answer, socket: Socket, head: Buffer) => {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      })
      .once('response', (answer) => reject(new Error(`${target.path}: status ${answer.statusCode}`)))
      .once('error', reject)
      .end(payload);
  });
}
