// The HTTP side of the proxy port: CONNECT, requests in absolute form, and requests inside a tunnel to port 80. Node's strict
// parser reads them; each request is decided by itself.
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';
import { farewell } from './farewell.ts';
import { exchange } from './http-exchange.ts';
import { type EarlyLine, KeptLine } from './kept-line.ts';
import { lead } from './lead.ts';
import type { Ask } from './passage.ts';
import { REASON_HEADER, refusalBytes, refusalOf, sentenceOf, statusOf } from './refusal.ts';
import { readAuthority } from './target.ts';
import type { HttpReader, Visit } from './visit.ts';

const MAX_HEAD_BYTES = 32 * 1024;
/** Requests of one connection that wait for the one before them. */
const MOST_PIPELINED = 64;

interface Seat {
  readonly visit: Visit;
  /** An open connection that served a request of this one. */
  readonly kept: KeptLine;
  timer: Timer;
  running: number;
  last: Promise<void>;
}

export class HttpFront implements HttpReader {
  readonly clock: Clock;
  readonly #server: Server;
  readonly #seats = new WeakMap<Duplex, Seat>();

  constructor(clock: Clock) {
    this.clock = clock;
    // It never listens: connections are handed to it.
    this.#server = createServer({ maxHeaderSize: MAX_HEAD_BYTES, insecureHTTPParser: false });
    // The size of a head bounds their number; over a bound of its own Node drops headers without a word.
    this.#server.maxHeadersCount = 0;
    this.#server.on('request', (request, response) => this.#queue(request, response));
    this.#server.on('upgrade', (request, client, head) => this.#upgrade(request, client, head));
    this.#server.on('connect', (request, client, head) => void this.#connect(request, client, head));
    this.#server.on('clientError', (error, client) => this.#unreadable(error, client));
  }

  serve(client: Duplex, visit: Visit, firstMs: number, early?: EarlyLine): void {
    const timer = this.clock.after(firstMs, () => client.destroy());
    const kept = new KeptLine((key, line) => visit.gate.idle.put(key, line));
    if (early) kept.expect(early);
    const seat: Seat = { visit, kept, timer, running: 0, last: Promise.resolve() };
    this.#seats.set(client, seat);
    client.once('close', () => {
      seat.timer.cancel();
      kept.close();
    });
    // Its last answer has left: what it used is free for the next program before the connection itself has ended.
    client.once('end', () => {
      if (seat.running === 0) kept.close();
    });
    this.#server.emit('connection', client);
  }

  #queue(request: IncomingMessage, response: ServerResponse): void {
    const seat = this.#seats.get(request.socket);
    if (!seat || seat.running >= MOST_PIPELINED) return void request.socket.destroy();
    seat.timer.cancel();
    seat.running += 1;
    seat.last = seat.last.then(() => this.#exchange(request, response, seat));
  }

  /** Never rejects. One at a time: the answers leave in the order of the requests. */
  async #exchange(request: IncomingMessage, response: ServerResponse, seat: Seat): Promise<void> {
    const client = request.socket;
    if (!client.destroyed)
      await exchange({ request, response, client, ...seatParts(seat), clock: this.clock });
    seat.running -= 1;
    if (seat.running > 0 || client.destroyed) return;
    seat.timer = this.clock.after(seat.visit.gate.idleMs, () => client.destroy());
  }

  /** Node has let go of the connection: it does not tell WebSockets from other protocols, of which none is spoken here. */
  #upgrade(request: IncomingMessage, client: Duplex, head: Buffer): void {
    const seat = this.#seats.get(client);
    if (!seat) return void client.destroy();
    seat.timer.cancel();
    if (head.length > 0) client.unshift(head);
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(client as never);
    response.once('finish', () => {
      response.detachSocket(client as never);
      farewell(client, this.clock);
    });
    void exchange({ request, response, client, ...seatParts(seat), clock: this.clock, isUpgrade: true });
  }

  /** Never rejects. */
  async #connect(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const seat = this.#seats.get(client);
    if (!seat) return void client.destroy();
    seat.timer.cancel();
    const { visit } = seat;
    const text = request.url ?? '';
    const target = visit.fixed ? undefined : readAuthority(text);
    const { uid, gate } = visit;
    const ask: Ask = { host: target?.host ?? text, port: target?.port ?? 0, how: 'connect', uid };
    try {
      if (head.length > 0) client.unshift(head);
      const agreed = () => void client.write(ESTABLISHED);
      const { clock } = this;
      await lead(client, { http: this, clock, visit: { gate, uid }, ask, firstMs: gate.idleMs, agreed });
    } catch (error) {
      const { reason } = refusalOf(error);
      await gate.pace.turn();
      farewell(
        client,
        this.clock,
        refusalBytes(statusOf(reason), 'Refused', reason, sentenceOf(reason, text)),
      );
    }
  }

  #unreadable(error: Error & { code?: string }, client: Duplex): void {
    if (!client.writable || error.code === 'ECONNRESET') return void client.destroy();
    const isLong = error.code === 'HPE_HEADER_OVERFLOW';
    const [status, phrase] = isLong ? [431, 'Request Header Fields Too Large'] : [400, 'Bad Request'];
    const text = isLong ? 'The head of the request is over 32 KiB.' : NOT_HTTP;
    farewell(client, this.clock, refusalBytes(status as number, String(phrase), 'name_invalid', text));
  }
}

const seatParts = ({ visit, kept }: Seat) => ({ visit, kept });

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';
const NOT_HTTP = 'This is not a valid request.';

export { REASON_HEADER };
