// Passes the bytes of a program on, and holds each ClientHello of TLS among them until its server name is known and allowed.
import { Transform, type TransformCallback } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';
import { HelloReader, HelloWatch, startOf } from './hello.ts';
import { EgressRefusal } from './refusal.ts';

const HELLO_MS = 5000;

export interface HelloCheck {
  readonly clock: Clock;
  /** Throws when the server name may not be asked for. */
  allow(name: string | undefined): void;
  /** Nothing of the hello has passed. */
  refused(refusal: EgressRefusal): void;
}

/** The state: reading the first bytes, reading a hello, watching for a second one, or passing everything on. */
type Search = { kind: 'start' } | HelloReader | HelloWatch | undefined;

export class HelloGuard extends Transform {
  readonly #check: HelloCheck;
  #search: Search = { kind: 'start' };
  #isFirst = true;
  #held: Buffer[] = [];
  #timer: Timer | undefined;
  #isRefused = false;

  constructor(check: HelloCheck) {
    super();
    this.#check = check;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    if (!this.#isRefused && chunk.length > 0) this.#read(chunk);
    done();
  }

  /** A program that ends in the midst of its hello asks for nothing. */
  override _flush(done: TransformCallback): void {
    this.#timer?.cancel();
    if (!(this.#search instanceof HelloReader)) this.#pass();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#timer?.cancel();
    done(error);
  }

  #read(chunk: Buffer): void {
    if (this.#search === undefined) this.push(chunk);
    else if (this.#search instanceof HelloReader) this.#readHello(this.#search, chunk);
    else if (this.#search instanceof HelloWatch) this.#watch(this.#search, chunk);
    else this.#readStart(chunk);
  }

  #readStart(chunk: Buffer): void {
    this.#held.push(chunk);
    const bytes = Buffer.concat(this.#held);
    const start = startOf(bytes);
    if (start === 'more') return void this.#wait();
    this.#held = [];
    if (start === 'hello') this.#begin(bytes);
    else if (start === 'odd') this.#refuse(new EgressRefusal('sni_mismatch'));
    else {
      this.#search = undefined;
      this.#timer?.cancel();
      this.push(bytes);
    }
  }

  #begin(bytes: Buffer): void {
    this.#wait();
    const reader = new HelloReader();
    this.#search = reader;
    this.#readHello(reader, bytes);
  }

  #readHello(reader: HelloReader, chunk: Buffer): void {
    this.#held.push(chunk);
    const reading = reader.write(chunk);
    if (reading.kind === 'invalid') this.#refuse(new EgressRefusal('sni_mismatch'));
    else if (reading.kind === 'hello') this.#decide(reading.name, reader.rest);
  }

  #decide(name: string | undefined, rest: Buffer): void {
    try {
      this.#check.allow(name);
    } catch (error) {
      return void this.#refuse(error as EgressRefusal);
    }
    this.#timer?.cancel();
    const bytes = Buffer.concat(this.#held);
    this.#held = [];
    this.push(bytes.subarray(0, bytes.length - rest.length));
    // A server asks for one further hello at most.
    const watch = this.#isFirst ? new HelloWatch() : undefined;
    this.#isFirst = false;
    this.#search = watch;
    if (rest.length > 0) this.#read(rest);
  }

  #watch(watch: HelloWatch, chunk: Buffer): void {
    const { before, hello, isOver } = watch.write(chunk);
    if (before.length > 0) this.push(before);
    if (hello) this.#begin(hello);
    else if (isOver) this.#search = undefined;
  }

  /** What is left is not a hello. */
  #pass(): void {
    const bytes = Buffer.concat([
      ...this.#held,
      this.#search instanceof HelloWatch ? this.#search.rest : EMPTY,
    ]);
    if (bytes.length > 0) this.push(bytes);
  }

  #wait(): void {
    this.#timer?.cancel();
    this.#timer = this.#check.clock.after(HELLO_MS, () => this.#refuse(new EgressRefusal('timeout')));
  }

  #refuse(refusal: EgressRefusal): void {
    if (this.#isRefused) return;
    this.#isRefused = true;
    this.#timer?.cancel();
    this.#held = [];
    this.#check.refused(refusal);
  }
}

const EMPTY = Buffer.alloc(0);
