// A connection to a target as a stream that counts what passes, and slows down where a rate is set.
import { Duplex } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';
import type { DialedConnection } from './egress.ts';
import type { Reads } from './reads.ts';

export type Direction = 'sent' | 'received';

export interface Meter {
  /** Notes bytes that pass now. Returns for how many ms no further ones may pass. */
  pass(direction: Direction, bytes: number): number;
}

/** Owns the socket. Both directions end by themselves; destroying it destroys the socket. */
export class Upstream extends Duplex {
  readonly #socket: Duplex;
  readonly #meter: Meter;
  readonly #clock: Clock;
  readonly #timers = new Set<Timer>();
  readonly #reads: Reads | undefined;
  #isHeld = false;

  constructor({ socket, reads }: Pick<DialedConnection, 'socket' | 'reads'>, meter: Meter, clock: Clock) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.#reads = reads;
    this.#meter = meter;
    this.#clock = clock;
    const received = (chunk: Buffer) => this.#received(chunk);
    if (reads) reads.take(received);
    else socket.on('data', received);
    socket.once('end', () => this.push(null));
    socket.once('error', (error) => this.destroy(error));
    socket.once('close', () => {
      if (!socket.readableEnded || !socket.writableFinished) this.destroy(new Error('The target closed.'));
    });
    socket.pause();
  }

  /** The reader of this stream has no more use for a chunk that it got. */
  again(chunk: Buffer): void {
    this.#reads?.again(chunk);
  }

  #received(chunk: Buffer): void {
    const waitMs = this.#meter.pass('received', chunk.length);
    if (this.destroyed) return;
    const wantsMore = this.push(chunk);
    if (waitMs > 0) this.#hold(waitMs);
    else if (!wantsMore) this.#socket.pause();
  }

  #hold(ms: number): void {
    this.#isHeld = true;
    this.#socket.pause();
    this.#after(ms, () => {
      this.#isHeld = false;
      if (this.readableLength < this.readableHighWaterMark) this.#socket.resume();
    });
  }

  #after(ms: number, run: () => void): void {
    const timer = this.#clock.after(ms, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }

  override _read(): void {
    if (!this.#isHeld) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const waitMs = this.#meter.pass('sent', chunk.length);
    if (this.destroyed) return void done();
    const isTaken = this.#socket.write(chunk);
    const next = isTaken ? done : () => this.#socket.once('drain', done);
    if (waitMs > 0) this.#after(waitMs, isTaken || this.#socket.writableNeedDrain ? next : done);
    else next();
  }

  override _final(done: () => void): void {
    this.#socket.end();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    for (const timer of this.#timers) timer.cancel();
    this.#socket.on('error', () => undefined);
    if (error || !this.#socket.readableEnded || !this.writableFinished) this.#socket.destroy();
    done(error);
  }
}
