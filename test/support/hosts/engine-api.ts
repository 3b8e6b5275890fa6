// The Engine API as a test speaks it, over the socket and by hand: the record that our own client is held against.
import { createReadStream } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';

export interface EngineContainer {
  Id: string;
  Names: string[];
  State: string;
  Labels: Record<string, string>;
  Image: string;
}

export interface EngineAnswer<T> {
  status: number;
  body: T;
}

export interface EngineApi {
  /** JSON in and out; a body that is no JSON comes as text. Rejects after 60 s. */
  call<T = unknown>(method: string, path: string, body?: unknown): Promise<EngineAnswer<T>>;
  /** All containers, dead ones too; with `label`, those that carry it. */
  containers(label?: string): Promise<EngineContainer[]>;
  /** Makes image `name` of a tar of a root file system. */
  importImage(name: string, tar: string): Promise<void>;
  /** Ends kept connections. */
  close(): void;
}

const DEADLINE_MS = 60_000;

export function engineApi(socketPath: string): EngineApi {
  const agent = new Agent({ keepAlive: true });
  const call = <T>(method: string, path: string, body?: unknown) =>
    new Promise<EngineAnswer<T>>((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' };
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const sent = request({ socketPath, agent, method, path, headers, signal }, (answer) =>
        gathered<T>(answer).then(resolve, reject),
      );
      sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
  return {
    call,
    containers: async (label) => {
      const filters = encodeURIComponent(JSON.stringify(label === undefined ? {} : { label: [label] }));
      return (await call<EngineContainer[]>('GET', `/containers/json?all=1&filters=${filters}`)).body;
    },
    importImage: (name, tar) => upload(socketPath, `/images/create?fromSrc=-&repo=${name}&tag=latest`, tar),
    close: () => agent.destroy(),
  };
}

async function gathered<T>(answer: IncomingMessage): Promise<EngineAnswer<T>> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) text += chunk;
  return { status: answer.statusCode ?? 0, body: parsed(text) as T };
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

function upload(socketPath: string, path: string, tar: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/x-tar' };
    const sent = request({ socketPath, agent: false, method: 'POST', path, headers }, (answer) =>
      gathered<unknown>(answer).then(({ status, body }) => {
        // A failure after the first byte comes as a line of the body.
        if (status === 200 && !JSON.stringify(body).includes('errorDetail')) resolve();
        else reject(new Error(`${path}: ${status} ${JSON.stringify(body)}`));
      }, reject),
    );
    sent.on('error', reject);
    createReadStream(tar).on('error', reject).pipe(sent);
  });
}
