// Joins a program's connection and that to its target, byte by byte. It reads nothing but a ClientHello.
import { type Duplex, Transform, type TransformCallback } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';
import { HelloReader, TLS_HANDSHAKE } from './hello.ts';
import { EgressRefusal } from './refusal.ts';
import { Upstream } from './upstream.ts';

const HELLO_MS = 5000;

export interface HelloCheck {
  readonly clock: Clock;
  /** Throws when the server name may not be asked for. */
  allow(name: string | undefined): void;
  /** Nothing of the hello has passed. */
  refused(refusal: EgressRefusal): void;
}

/** Passes bytes on; holds a ClientHello at the start until its server name is known and allowed. */
export class HelloGuard extends Transform {
  readonly #check: HelloCheck;
  #reader: HelloReader | undefined;
  #held: Buffer[] = [];
  #timer: Timer | undefined;
  #isFirst = true;
  #isRefused = false;

  constructor(check: HelloCheck) {
    super();
    this.#check = check;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (this.#isRefused || chunk.length === 0) return void done();
    if (this.#isFirst && chunk[0] === TLS_HANDSHAKE) this.#begin();
    this.#isFirst = false;
    if (this.#reader === undefined) return void done(null, chunk);
    this.#held.push(chunk);
    const reading = this.#reader.write(chunk);
    if (reading.kind === 'more') return void done();
    if (reading.kind === 'invalid') this.#refuse(new EgressRefusal('sni_mismatch'));
    else this.#decide(reading.name);
    done();
  }

  /** A program that ends in the midst of its hello asks for nothing. */
  override _flush(done: TransformCallback): void {
    this.#timer?.cancel();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#timer?.cancel();
    done(error);
  }

  #begin(): void {
    this.#reader = new HelloReader();
    this.#timer = this.#check.clock.after(HELLO_MS, () => this.#refuse(new EgressRefusal('timeout')));
  }

  #decide(name: string | undefined): void {
    try {
      this.#check.allow(name);
    } catch (error) {
      this.#refuse(error as EgressRefusal);
      return;
    }
    this.#timer?.cancel();
    this.#reader = undefined;
    this.push(Buffer.concat(this.#held));
    this.#held = [];
  }

  #refuse(refusal: EgressRefusal): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#timer?.cancel();
    this.#held = [];
    this.#check.refused(refusal);
  }
}

export interface Splice {
  /** Takes the program's connection out: it stays open when the other ends. */
  release(): void;
}

/** Each direction ends by itself; a failure of one side is one of both. `through` sees what the program sends. */
export function splice(client: Duplex, upstream: Duplex, through?: Transform): Splice {
  const endClient = () => {
    if (!isDone(upstream)) client.destroy();
  };
  const first = through ?? upstream;
  client
    .on('error', () => undefined)
    .once('close', () => {
      if (!isDone(client)) upstream.destroy();
    });
  upstream.on('error', () => undefined).once('close', endClient);
  upstream.once('close', () => through?.destroy());
  client.pipe(first);
  through?.pipe(upstream);
  const stop = pump(upstream, client);
  return {
    release: () => {
      stop();
      upstream.off('close', endClient);
      client.unpipe(first);
    },
  };
}

/** Pipes, and tells the connection to the target which of its chunks have left. Returns how to stop. */
function pump(from: Duplex, to: Duplex): () => void {
  const again = from instanceof Upstream ? (chunk: Buffer) => from.again(chunk) : () => undefined;
  const pass = (chunk: Buffer) => {
    if (!to.write(chunk, () => again(chunk))) from.pause();
  };
  const resume = () => void from.resume();
  const end = () => void to.end();
  from.on('data', pass).once('end', end);
  to.on('drain', resume);
  return () => {
    from.off('data', pass).off('end', end).pause();
    to.off('drain', resume);
  };
}

/** Both directions have come to their end. */
const isDone = (side: Duplex) => side.readableEnded && side.writableFinished;
