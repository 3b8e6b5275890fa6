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
import { endToEnd, type HeaderList, valuesOf } from '../domain/header-lists.ts';
import { type Asking, lineFor, settleLine } from './exchange-line.ts';
import type { Line } from './kept-line.ts';
import type { Ask } from './passage.ts';
import { bodyOf, EgressRefusal, REASON_HEADER, refusalOf, sentenceOf, statusOf } from './refusal.ts';
import { brokeredRoute, type HttpRoute, hostHeader, isSame, plainRoute, targetOf } from './route.ts';
import { splice } from './splice.ts';
import { readHostHeader } from './target.ts';

const MAX_HEAD_BYTES = 32 * 1024;
const MAX_INTERIM = 16;

export interface Exchange extends Asking {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The program asks for another protocol on this connection. */
  readonly isUpgrade?: boolean;
}

/** Resolves when the answer has left, or cannot. Never rejects. */
export async function exchange(task: Exchange): Promise<void> {
  const { request, client, visit } = task;
  const target = targetOf(request, visit);
  if (target === undefined) return answer(task, 400, 'name_invalid', visit.fixed ? IN_TUNNEL : WHAT_THIS_IS);
  const plain = plainRoute(request, target, visit);
  let route: HttpRoute;
  try {
    checkRequest(task, plain);
    route = brokeredRoute(plain, visit.gate.policy);
  } catch (error) {
    return answerRefusal(task, plain.ask, visit.gate.refuse(plain.ask, client, error));
  }
  const isRepeatable = REPEATABLE.includes(request.method ?? '') && !hasBody(request.rawHeaders);
  if ((await attempt(task, route)) === 'done') return;
  // Its target has closed others, too.
  visit.gate.idle.clear();
  if (!isRepeatable || (await attempt(task, route)) === 'stale')
    await answerRefusal(task, route.ask, new EgressRefusal('unreachable'));
}

/** Methods whose request may be sent again after a kept connection turned out to be closed. */
const REPEATABLE = ['GET', 'HEAD', 'OPTIONS'];

/** `stale`: a kept connection ended before its answer began, so nothing was answered. Never rejects. */
async function attempt(task: Exchange, route: HttpRoute): Promise<'done' | 'stale'> {
  const { response, client } = task;
  let line: Line | undefined;
  const gone = () => void line?.opened.upstream.destroy();
  try {
    line = await lineFor(task, route);
    client.once('close', gone);
    const reply = await send(line, task, route);
    line.opened.passage.status = reply.answer.statusCode ?? 0;
    if (reply.kind === 'switched') switchOver(task, line, reply);
    else {
      await relay(task, reply.answer, route);
      settleLine(task, line, { route, answer: reply.answer, isKept: reply.isKept() });
    }
  } catch (error) {
    line?.opened.upstream.destroy();
    if (response.headersSent) client.destroy();
    else if (line?.isReused && !client.destroyed) return 'stale';
    else await answerRefusal(task, route.ask, refusalOf(error));
  } finally {
    client.off('close', gone);
  }
  return 'done';
}

/** Throws a refusal. */
function checkRequest({ request, isUpgrade }: Exchange, { target, isTls }: HttpRoute): void {
  const { method, rawHeaders } = request;
  if (method === 'TRACE') throw new EgressRefusal('method_denied');
  // Its body was not read: Node takes what follows such a head for the other protocol.
  if (isUpgrade && hasBody(rawHeaders)) throw new EgressRefusal('method_denied');
  const hosts = valuesOf(rawHeaders, 'host');
  const host = hosts[0] === undefined ? undefined : readHostHeader(hosts[0], isTls);
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

/** For the target: what belongs to this connection is left out, and the body is framed again. A credential is set, not added. */
function headersFor(task: Exchange, route: HttpRoute): string[] {
  const { rawHeaders } = task.request;
  const { credential } = route;
  const head = ['Host', hostHeader(route)];
  // Some servers take `_` for `-`.
  const isOurs = (plain: string) => plain.replaceAll('_', '-') === credential?.header;
  for (const { name: header, plain, value } of endToEnd(rawHeaders))
    if (!OWN_HEADERS.includes(plain) && !isOurs(plain)) head.push(header, value);
  if (credential) head.push(credential.header, credential.text);
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

/** Set by the server itself. */
const OWN_HEADERS = ['host', 'content-length', 'expect'];

type Reply =
  | { readonly kind: 'answer'; readonly answer: IncomingMessage; isKept(): boolean }
  | { readonly kind: 'switched'; readonly answer: IncomingMessage; readonly head: Buffer };

/** Resolves with the head of the answer. Rejects with a refusal. */
function send({ opened: { passage }, stream }: Line, task: Exchange, route: HttpRoute): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = outgoingTo(stream, task, route);
    const isKept = () => outgoing.shouldKeepAlive && outgoing.writableFinished;
    const fail = () => reject(new EgressRefusal(passage.isOpen ? 'unreachable' : passage.verdict.reason));
    let interim = 0;
    outgoing.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) outgoing.destroy();
    });
    outgoing.once('response', (answer) => {
      if (isReadable(answer)) resolve({ kind: 'answer', answer, isKept });
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

function outgoingTo(stream: Duplex, task: Exchange, route: HttpRoute): ClientRequest {
  const outgoing = httpRequest({
    createConnection: () => stream,
    method: task.request.method,
    path: route.target.path,
    headers: headersFor(task, route),
    setHost: false,
    maxHeaderSize: MAX_HEAD_BYTES,
    insecureHTTPParser: false,
  });
  outgoing.maxHeadersCount = 0;
  // Without an agent Node takes it for the last request of its connection.
  outgoing.shouldKeepAlive = true;
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
async function relay(
  { response, client }: Exchange,
  answer: IncomingMessage,
  { isTls }: HttpRoute,
): Promise<void> {
  const head = [...endToEnd(answer.rawHeaders)]
    // It offers HTTP/3, which does not leave a sandbox.
    .filter(({ plain }) => !isTls || plain !== 'alt-svc')
    .flatMap(({ name, value }) => [name, value]);
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
  { stream }: Line,
  { answer, head }: Extract<Reply, { kind: 'switched' }>,
): void {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket'];
  for (const { name, value } of endToEnd(answer.rawHeaders)) lines.push(`${name}: ${value}`);
  response.detachSocket(client as never);
  client.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
  if (head.length > 0) stream.unshift(head);
  splice(client, stream);
}

const WHAT_THIS_IS =
  'This is the egress proxy of a sandbox. It takes CONNECT, and requests that name http:// and a host.\nSet https_proxy and http_proxy to this address; see docs/network.md.';
const IN_TUNNEL = 'The request is for another host than its tunnel.';

async function answerRefusal(task: Exchange, ask: Ask, { reason }: EgressRefusal): Promise<void> {
  await task.visit.gate.pace.turn();
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
