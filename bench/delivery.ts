// P24 of the speed table: how late events reach 1,000 readers at 50 events a second. Refused spawns make them, as in P23; the
// readers share this machine with the server, so that part of the time is their own.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Pair } from './row.ts';
import { quantile } from './stats.ts';

const READERS = 1000;
const EACH_MS = 20;
const EVENTS = 50;
const FEED = 'GET /api/v1/events?type=resource.limit HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** A life that is over the maximum. */
const REFUSED =
  'POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"ttl":"8000h"}';
/** Begins the line that only an event has. */
const MARK = '\ndata: ';

export interface DeliveryBench {
  pair: Pair;
  close(): void;
}

export async function deliveryBench(address: string): Promise<DeliveryBench> {
  const port = Number(new URL(address).port);
  const readers: Reader[] = [];
  while (readers.length < READERS) readers.push(await Reader.open(port));
  const asker = connect(port, '127.0.0.1').resume();
  await once(asker, 'connect');
  return {
    pair: {
      id: 'P24',
      name: `delay (p99) of ${EVENTS} events a second to ${READERS} readers`,
      target: 50,
      pairs: 10,
      warmUps: 2,
      ours: () => latest(readers, asker),
    },
    close: () => {
      for (const socket of [asker, ...readers.map((reader) => reader.socket)]) socket.destroy();
    },
  };
}

/** The delays of one second's events in ms: from the request that makes an event until all readers have it. */
async function latest(readers: readonly Reader[], asker: Socket): Promise<number> {
  const sent: number[] = [];
  const all = Promise.all(readers.map((reader) => reader.read(EVENTS)));
  for (let n = 0; n < EVENTS; n += 1) {
    sent.push(performance.now());
    asker.write(REFUSED);
    await new Promise((resolve) => setTimeout(resolve, EACH_MS));
  }
  const delays = (await all).flatMap((came) => came.map((at, n) => at - (sent[n] ?? 0)));
  return quantile(delays, 0.99);
}

class Reader {
  readonly socket: Socket;
  #came: number[] = [];
  /** The end of the last part: a mark may be cut in two. */
  #rest = '';
  #heard: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding('latin1').on('data', (part) => this.#take(String(part)));
  }

  static async open(port: number): Promise<Reader> {
    const socket = connect(port, '127.0.0.1');
    socket.write(FEED);
    // Its head: from here on nothing is missed.
    await once(socket, 'readable');
    return new Reader(socket);
  }

  /** When each of so many events came, from now on. */
  read(count: number): Promise<number[]> {
    this.#came = [];
    return new Promise((resolve) => {
      this.#heard = () => {
        if (this.#came.length >= count) resolve(this.#came);
      };
    });
  }

  #take(part: string): void {
    const text = this.#rest + part;
    for (let n = text.split(MARK).length - 1; n > 0; n -= 1) this.#came.push(performance.now());
    this.#rest = text.slice(1 - MARK.length);
    this.#heard();
  }
}
