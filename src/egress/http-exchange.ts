// One plain HTTP request of a program: decided, sent to its target over a connection of its own, and answered. What two servers
// could read as two things is refused.
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { egressHost } from '../domain/egress/host.ts';
import { endToEnd, type HeaderList, valuesOf } from '../domain/header-lists.ts';
import type { Clock } from '../domain/ports.ts';
import { textOf } from './decide.ts';
import type { Ask } from './passage.ts';
import { bodyOf, EgressRefusal, REASON_HEADER, refusalOf, sentenceOf, statusOf } from './refusal.ts';
import { splice } from './splice.ts';
import { type AbsoluteTarget, type HttpTarget, readAbsolute, readHostHeader } from './target.ts';
import type { Opened } from './tunnel.ts';
import type { Visit } from './visit.ts';

const MAX_HEAD_BYTES = 32 * 1024;
const MAX_INTERIM = 16;

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly client: Duplex;
  readonly visit: Visit;
  readonly clock: Clock;
  /** The program asks for another protocol on this connection. */
  readonly isUpgrade?: boolean;
}

/** Resolves when the answer has left, or cannot. Never rejects. */
export async function exchange(task: Exchange): Promise<void> {
  const { request, response, client, visit } = task;
  const target = targetOf(request, visit);
  if (target === undefined) return answer(task, 400, 'name_invalid', visit.fixed ? IN_TUNNEL : WHAT_THIS_IS);
  const ask = askOf(request, target, visit);
  let opened: Opened | undefined;
  const gone = () => void opened?.upstream.destroy();
  try {
    checkRequest(task, target);
  } catch (error) {
    return answerRefusal(task, ask, visit.gate.refuse(ask, client, error));
  }
  try {
    opened = await visit.gate.open(ask, client);
    client.once('close', gone);
    const reply = await send(opened, task, target);
    opened.passage.status = reply.answer.statusCode ?? 0;
    if (reply.kind === 'switched') switchOver(task, opened, reply);
    else {
      await relay(task, reply.answer);
      // Its connection serves one request.
      opened.upstream.destroy();
    }
  } catch (error) {
    opened?.upstream.destroy();
    if (response.headersSent) client.destroy();
    else await answerRefusal(task, ask, refusalOf(error));
  } finally {
    client.off('close', gone);
  }
}

function targetOf({ url = '', method }: IncomingMessage, { fixed }: Visit): AbsoluteTarget | undefined {
  const absolute = readAbsolute(url);
  if (!fixed) return absolute;
  if (absolute) return isSame(absolute, fixed) ? absolute : undefined;
  const isOrigin = url.startsWith('/') || (url === '*' && method === 'OPTIONS');
  return isOrigin ? { host: fixed.host, port: fixed.port, path: url } : undefined;
}

function isSame(a: HttpTarget, b: HttpTarget): boolean {
  const [one, other] = [egressHost(a.host), egressHost(b.host)];
  return one !== undefined && other !== undefined && textOf(one) === textOf(other) && a.port === b.port;
}

function askOf({ method = '' }: IncomingMessage, target: AbsoluteTarget, { fixed, uid }: Visit): Ask {
  const path = target.path.split('?', 1)[0] ?? '/';
  return { host: target.host, port: target.port, how: fixed?.how ?? 'http', uid, method, path };
}

/** Throws a refusal. */
function checkRequest({ request, isUpgrade }: Exchange, target: AbsoluteTarget): void {
  const { method, rawHeaders } = request;
  if (method === 'TRACE') throw new EgressRefusal('method_denied');
  // Its body was not read: Node takes what follows such a head for the other protocol.
  if (isUpgrade && hasBody(rawHeaders)) throw new EgressRefusal('method_denied');
  const hosts = valuesOf(rawHeaders, 'host');
  const host = hosts[0] === undefined ? undefined : readHostHeader(hosts[0]);
  if (hosts.length > 1 || (hosts.length === 1 && !(host && isSame(host, target))))
    throw new EgressRefusal('host_mismatch');
  const codings = valuesOf(rawHeaders, 'transfer-encoding');
  if (codings.length > 1 || (codings[0] !== undefined && codings[0].trim().toLowerCase() !== 'chunked'))
    throw new EgressRefusal('method_denied');
}

const isWebSocket = ({ request, isUpgrade }: Exchange) =>
  isUpgrade === true && request.headers.upgrade?.toLowerCase() === 'websocket';

function hasBody(list: HeaderList): boolean {
  return (
    valuesOf(list, 'transfer-encoding').length > 0 || valuesOf(list, 'content-length').some((n) => n !== '0')
  );
}

/** For the target: what belongs to this connection is left out, and the body is framed again. */
function headersFor(task: Exchange, { host, port }: AbsoluteTarget): string[] {
  const { rawHeaders } = task.request;
  const read = egressHost(host);
  const name = read === undefined ? host : textOf(read);
  const shown = name.includes(':') ? `[${name}]` : name;
  const head = ['Host', port === 80 ? shown : `${shown}:${port}`];
  for (const { name: header, plain, value } of endToEnd(rawHeaders))
    if (plain !== 'host' && plain !== 'content-length' && plain !== 'expect') head.push(header, value);
  if (isWebSocket(task)) return [...head, 'Connection', 'Upgrade', 'Upgrade', 'websocket'];
  const length = valuesOf(rawHeaders, 'content-length')[0];
  const isChunked = valuesOf(rawHeaders, 'transfer-encoding').length > 0;
  const framing = isChunked
    ? ['Transfer-Encoding', 'chunked']
    : length === undefined
      ? []
      : ['Content-Length', length];
  // Its connection serves one request, and a target that answers early must not close before all has left.
  return [...head, ...framing, 'Connection', 'keep-alive'];
}

type Reply =
  | { readonly kind: 'answer'; readonly answer: IncomingMessage }
  | { readonly kind: 'switched'; readonly answer: IncomingMessage; readonly head: Buffer };

/** Resolves with the head of the answer. Rejects with a refusal. */
function send({ passage, upstream }: Opened, task: Exchange, target: AbsoluteTarget): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = outgoingTo(upstream, task, target);
    const fail = () => reject(new EgressRefusal(passage.isOpen ? 'unreachable' : passage.verdict.reason));
    let interim = 0;
    outgoing.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) outgoing.destroy();
    });
    outgoing.once('response', (answer) => {
      if (isReadable(answer)) resolve({ kind: 'answer', answer });
      else outgoing.destroy();
    });
    outgoing.once('upgrade', (answer, _socket, head) => {
      if (isWebSocket(task)) resolve({ kind: 'switched', answer, head });
      else outgoing.destroy();
    });
    outgoing.on('error', fail).once('close', fail);
    sendBody(task.request, outgoing);
  });
}

function outgoingTo(upstream: Duplex, task: Exchange, target: AbsoluteTarget): ClientRequest {
  const outgoing = httpRequest({
    createConnection: () => upstream,
    method: task.request.method,
    path: target.path,
    headers: headersFor(task, target),
    setHost: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    insecureHTTPParser: false,
  });
  outgoing.maxHeadersCount = 0;
  return outgoing;
}

/** Not by `pipeline`: a target that answers early and closes must not end the program's connection. */
function sendBody(request: IncomingMessage, outgoing: ClientRequest): void {
  if (!hasBody(request.rawHeaders)) return void outgoing.end();
  outgoing.flushHeaders();
  const stop = () => void request.unpipe(outgoing).resume();
  outgoing.once('close', stop);
  request.pipe(outgoing).once('error', stop);
}

/** Whether it has one meaning. */
function isReadable({ statusCode = 0, httpVersionMajor, rawHeaders }: IncomingMessage): boolean {
  const codings = valuesOf(rawHeaders, 'transfer-encoding');
  const isPlain =
    codings.length === 0 || (codings.length === 1 && codings[0]?.trim().toLowerCase() === 'chunked');
  return httpVersionMajor === 1 && statusCode >= 200 && statusCode <= 599 && isPlain;
}

/** An answer that breaks off ends the program's connection: it must not look complete. */
async function relay({ response, client }: Exchange, answer: IncomingMessage): Promise<void> {
  const head = [...endToEnd(answer.rawHeaders)].flatMap(({ name, value }) => [name, value]);
  response.sendDate = false;
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, head);
  response.flushHeaders();
  try {
    await pipeline(answer, response);
  } catch {
    client.destroy();
  }
}

function switchOver(
  { response, client }: Exchange,
  { upstream }: Opened,
  { answer, head }: Extract<Reply, { kind: 'switched' }>,
): void {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket'];
  for (const { name, value } of endToEnd(answer.rawHeaders)) lines.push(`${name}: ${value}`);
  response.detachSocket(client as never);
  client.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
  if (head.length > 0) upstream.unshift(head);
  splice(client, upstream);
}

const WHAT_THIS_IS =
  'This is the egress proxy of a sandbox. It takes CONNECT, and requests that name http:// and a host.\nSet https_proxy and http_proxy to this address; see docs/network.md.';
const IN_TUNNEL = 'The request is for another host than its tunnel.';

function answerRefusal(task: Exchange, ask: Ask, { reason }: EgressRefusal): Promise<void> {
  const target = `${ask.host.includes(':') ? `[${ask.host}]` : ask.host}:${ask.port}`;
  return answer(task, statusOf(reason), reason, sentenceOf(reason, target));
}

/** An answer of ours. A body that nobody read ends the connection. */
function answer(
  { request, response }: Exchange,
  status: number,
  reason: string,
  text: string,
): Promise<void> {
  return new Promise((resolve) => {
    const body = bodyOf(text);
    if (hasBody(request.rawHeaders)) response.shouldKeepAlive = false;
    response.sendDate = false;
    response.writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      [REASON_HEADER]: reason,
      'content-length': body.length,
    });
    response.once('close', resolve);
    response.end(body, () => resolve());
  });
}
