// The example backend with some things changed: what it is asked, what it answers, or not at all.
import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { CustomBackend } from '../servers/custom-backend.ts';

export interface Change {
  /** `METHOD /path`, the beginning of it. */
  at: string;
  /** Only where the JSON of the request holds this text. */
  asked?: string;
  /** Answers in its place with this status and JSON. */
  status?: number;
  json?: unknown;
  /** Another request: its JSON body as text, its URL. */
  body?: ((text: string) => string) | undefined;
  url?: ((url: string) => string) | undefined;
  headers?: Record<string, string | undefined> | undefined;
  /** Another answer: each piece of it as latin-1, its status. */
  says?: ((piece: string) => string) | undefined;
  turns?: ((status: number) => number) | undefined;
  /** Takes the whole call, whatever else would be changed about it; `pass` hands it on. */
  takes?: (call: TakenCall) => void;
}

export interface TakenCall {
  req: IncomingMessage;
  res: ServerResponse;
  backend: CustomBackend;
  pass(): void;
}

export interface BrokenBackend {
  url: string;
  close(): Promise<void>;
}

/** Changes that meet in one request are made one after another. */
export async function brokenBackend(
  backend: CustomBackend,
  changes: readonly Change[],
): Promise<BrokenBackend> {
  const front = createServer((req, res) => void forward(backend, changes, { req, res }));
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    close: async () => {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}

async function forward(
  backend: CustomBackend,
  changes: readonly Change[],
  { req, res }: Pick<TakenCall, 'req' | 'res'>,
) {
  const pass = (asked: IncomingMessage = req) => backend.server.emit('request', asked, res);
  const near = changes.filter(({ at }) => `${req.method} ${req.url}`.startsWith(at));
  if (near.length === 0) return pass();
  const isJson = req.headers['content-type'] === 'application/json';
  const body = isJson ? await text(req) : '';
  const change = together(near.filter(({ asked }) => asked === undefined || body.includes(asked)));
  const again = isJson || change.url || change.headers ? copy(req, body, change) : req;
  if (change.takes) return change.takes({ req: again, res, backend, pass: () => pass(again) });
  if (change.status !== undefined)
    return res
      .writeHead(change.status, { 'content-type': 'application/json' })
      .end(JSON.stringify(change.json ?? {}));
  if (change.says) rewrite(res, change.says);
  if (change.turns) turn(res, change.turns);
  pass(again);
}

function together(changes: readonly Change[]): Change {
  const both = (all: Change, change: Change): Change => ({
    ...{ ...all, ...change },
    body: after(all.body, change.body),
    url: after(all.url, change.url),
    says: after(all.says, change.says),
    turns: after(all.turns, change.turns),
    headers: all.headers || change.headers ? { ...all.headers, ...change.headers } : undefined,
  });
  return changes.reduce(both, { at: '' });
}

function after<T>(first?: (value: T) => T, then?: (value: T) => T): ((value: T) => T) | undefined {
  return first && then ? (value) => then(first(value)) : (first ?? then);
}

/** The same request with another body, URL or headers. */
function copy(req: IncomingMessage, body: string, change: Change): IncomingMessage {
  const made = new IncomingMessage(req.socket);
  // One that is not complete takes its connection with it when it is destroyed.
  made.complete = true;
  Object.assign(made, { method: req.method, url: change.url?.(req.url ?? '') ?? req.url });
  Object.assign(made.headers, req.headers, change.headers);
  if (body === '') req.on('data', (piece) => made.push(piece)).on('end', () => made.push(null));
  else {
    made.push(change.body?.(body) ?? body);
    made.push(null);
  }
  return made;
}

/** Lengths change, so that none is promised. */
function rewrite(res: ServerResponse, says: (piece: string) => string): void {
  const [write, end, head] = [res.write.bind(res), res.end.bind(res), res.writeHead.bind(res)];
  const changed = (piece: unknown) =>
    Buffer.from(says(Buffer.from(piece as Buffer).toString('latin1')), 'latin1');
  const without = (headers: object = {}) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'content-length'));
  Object.assign(res, {
    writeHead: (status: number, headers?: object) => head(status, without(headers) as never),
    write: (piece: unknown) => write(changed(piece)),
    end: (piece?: unknown) => (piece === undefined ? end() : end(changed(piece))),
  });
}

function turn(res: ServerResponse, turns: (status: number) => number): void {
  const head = res.writeHead.bind(res);
  Object.assign(res, {
    writeHead: (status: number, headers?: object) => head(turns(status), headers as never),
  });
}
