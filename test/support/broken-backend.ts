// The example backend with one thing changed: what it is asked, what it answers, or not at all.
import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { CustomBackend } from './custom-backend.ts';

export interface Change {
  /** `METHOD /path`, the beginning of it. */
  at: string;
  /** Only where the JSON of the request holds this text. */
  asked?: string;
  /** Answers in its place with this status and JSON. */
  status?: number;
  json?: unknown;
  /** Another request: its JSON body as text, its URL. */
  body?: (text: string) => string;
  url?: (url: string) => string;
  headers?: Record<string, string | undefined>;
  /** Another answer: each piece of it as latin-1, its status. */
  says?: (piece: string) => string;
  turns?: (status: number) => number;
  /** Takes the whole call; `pass` hands it on. */
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

export async function brokenBackend(backend: CustomBackend, change: Change): Promise<BrokenBackend> {
  const front = createServer((req, res) => void forward(backend, change, { req, res }));
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    close: async () => {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}

async function forward(backend: CustomBackend, change: Change, { req, res }: Pick<TakenCall, 'req' | 'res'>) {
  const pass = (asked: IncomingMessage = req) => backend.server.emit('request', asked, res);
  if (!`${req.method} ${req.url}`.startsWith(change.at)) return pass();
  const isJson = req.headers['content-type'] === 'application/json';
  const body = isJson ? await text(req) : '';
  const again = isJson || change.url || change.headers ? copy(req, body, change) : req;
  if (change.asked !== undefined && !body.includes(change.asked)) return pass(copy(req, body, { at: '' }));
  if (change.takes) return change.takes({ req: again, res, backend, pass: () => pass(again) });
  if (change.status !== undefined)
    return res
      .writeHead(change.status, { 'content-type': 'application/json' })
      .end(JSON.stringify(change.json ?? {}));
  if (change.says) rewrite(res, change.says);
  if (change.turns) turn(res, change.turns);
  pass(again);
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
