// Reads the server name of a TLS ClientHello (RFC 8446, 4.1.2; RFC 6066, 3) as its bytes arrive, without ending TLS. The bytes
// themselves are passed on unchanged by the caller.

/** The first byte of every TLS record that carries a handshake. */
export const TLS_HANDSHAKE = 22;
/** Longer ones are refused; today's largest, with post-quantum keys, stay below 2 KiB. */
export const MAX_HELLO_BYTES = 16 * 1024;
/** A fatal alert `access_denied` (RFC 8446, 6.2). */
export const ACCESS_DENIED = Buffer.from([21, 3, 3, 0, 2, 2, 49]);

const RECORD_HEAD = 5;
const MAX_RECORD = 16_384;
const MESSAGE_HEAD = 4;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;

export type HelloReading =
  | { readonly kind: 'more' }
  /** `name` as the client sent it; undefined when it named no server. */
  | { readonly kind: 'hello'; readonly name: string | undefined }
  | { readonly kind: 'invalid' };

/** Types of records, and the shortest ones that a server might pass over before a hello. */
const [FIRST_TYPE, LAST_TYPE, SHORT_RECORD, MAJOR, MOST_MAJOR] = [20, 24, 64, 3, 15];

/**
 * How the bytes of a connection begin: with a handshake of TLS, with another record of TLS, which no client sends first, but some
 * servers pass over, or with something else.
 */
export function startOf(bytes: Buffer): 'hello' | 'odd' | 'other' | 'more' {
  const [type = 0, major = 0] = bytes;
  if (type === TLS_HANDSHAKE) return 'hello';
  if (type < FIRST_TYPE || type > LAST_TYPE || major > MOST_MAJOR) return 'other';
  if (bytes.length < RECORD_HEAD) return 'more';
  return major === MAJOR || bytes.readUInt16BE(3) <= SHORT_RECORD ? 'odd' : 'other';
}

const MORE: HelloReading = { kind: 'more' };
const INVALID: HelloReading = { kind: 'invalid' };

/** Collects the bytes of one connection. A record may hold a part of the message, down to one byte. */
export class HelloReader {
  /** Bytes of records that are not complete yet. */
  #rest: Buffer = Buffer.alloc(0);
  readonly #fragments: Buffer[] = [];
  #length = 0;
  /** Bytes of the message with its head, once its head is there. */
  #whole: number | undefined;
  #taken = 0;

  /** After `hello`: what came behind its records. */
  get rest(): Buffer {
    return this.#rest;
  }

  /** Adds bytes. After `hello` or `invalid` it must not be called. */
  write(bytes: Buffer): HelloReading {
    this.#taken += bytes.length;
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    if (!this.#takeRecords()) return INVALID;
    const wanted = this.#wanted();
    // Nothing else is in the records of a hello: some servers would read it as another one.
    if (wanted === undefined || wanted > MAX_HELLO_BYTES || this.#isOverfull(wanted)) return INVALID;
    if (this.#length >= wanted) return nameOf(this.#message().subarray(MESSAGE_HEAD, wanted));
    // Heads of records count, so that a message in tiny records stays bounded: 6 bytes for each of its own.
    return this.#taken > 7 * MAX_HELLO_BYTES ? INVALID : MORE;
  }

  /** Moves complete records to the fragments. False: this is not a handshake. */
  #takeRecords(): boolean {
    let at = 0;
    let isValid = true;
    while (isValid && this.#rest.length - at >= RECORD_HEAD) {
      const length = this.#rest.readUInt16BE(at + 3);
      isValid =
        this.#rest[at] === TLS_HANDSHAKE && this.#rest[at + 1] === 3 && length > 0 && length <= MAX_RECORD;
      if (!isValid || this.#rest.length - at < RECORD_HEAD + length) break;
      this.#fragments.push(this.#rest.subarray(at + RECORD_HEAD, at + RECORD_HEAD + length));
      this.#length += length;
      at += RECORD_HEAD + length;
      // What follows the message belongs to the server.
      const wanted = this.#wanted();
      if (wanted === undefined || this.#length >= wanted) break;
    }
    this.#rest = this.#rest.subarray(at);
    return isValid && (this.#rest.length === 0 || this.#rest[0] === TLS_HANDSHAKE || this.#isComplete());
  }

  #isOverfull(wanted: number): boolean {
    return this.#whole !== undefined && this.#length > wanted;
  }

  #isComplete(): boolean {
    const wanted = this.#wanted();
    return wanted === undefined || this.#length >= wanted;
  }

  /** Bytes of the message with its head, as far as known; undefined when it is not a ClientHello. */
  #wanted(): number | undefined {
    if (this.#length === 0) return MESSAGE_HEAD;
    if (this.#fragments[0]?.[0] !== CLIENT_HELLO) return undefined;
    if (this.#length < MESSAGE_HEAD) return MESSAGE_HEAD;
    this.#whole ??= MESSAGE_HEAD + this.#message().readUIntBE(1, 3);
    return this.#whole;
  }

  #message(): Buffer {
    if (this.#fragments.length > 1) this.#fragments.splice(0, Infinity, Buffer.concat(this.#fragments));
    return this.#fragments[0] ?? Buffer.alloc(0);
  }
}

/** A cursor that fails once, for good, where a length leads beyond the end. */
class Fields {
  readonly #bytes: Buffer;
  #at = 0;
  isValid = true;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.isValid ? this.#bytes.length - this.#at : 0;
  }

  number(size: number): number {
    const bytes = this.bytes(size);
    return this.isValid ? bytes.readUIntBE(0, size) : 0;
  }

  bytes(size: number): Buffer {
    if (size > this.#bytes.length - this.#at) this.isValid = false;
    if (!this.isValid) return Buffer.alloc(0);
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  /** A vector: its length in `size` bytes, then so many bytes. */
  vector(size: number): Buffer {
    return this.bytes(this.number(size));
  }
}

const MOST_WATCHED = 1024 * 1024;

/**
 * Looks for a second hello among the records after the first: a server may ask for one, and some then take its server name
 * (RFC 8446, 4.1.4). Early data can come before it.
 */
export class HelloWatch {
  #rest: Buffer = Buffer.alloc(0);
  /** Bytes of the running record that are to come. */
  #left = 0;
  #taken = 0;

  /** The first bytes of a record, until there are enough of them. */
  get rest(): Buffer {
    return this.#rest;
  }

  /** `before` may pass; `hello` begins with the record of a hello. `isOver`: none can come any more. */
  write(bytes: Buffer): { before: Buffer; hello?: Buffer; isOver: boolean } {
    const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#taken += bytes.length;
    let at = Math.min(this.#left, all.length);
    this.#left -= at;
    while (all.length - at > RECORD_HEAD) {
      const [type = 0, length] = [all[at], all.readUInt16BE(at + 3)];
      if (type === TLS_HANDSHAKE && (length === 0 || all[at + RECORD_HEAD] === CLIENT_HELLO))
        return { before: all.subarray(0, at), hello: all.subarray(at), isOver: true };
      if (type === TLS_HANDSHAKE || type < FIRST_TYPE || type > LAST_TYPE) return this.#end(all);
      const size = RECORD_HEAD + length;
      this.#left = Math.max(0, size - (all.length - at));
      at += size - this.#left;
    }
    if (this.#taken > MOST_WATCHED) return this.#end(all);
    this.#rest = Buffer.from(all.subarray(at));
    return { before: all.subarray(0, at), isOver: false };
  }

  #end(before: Buffer) {
    this.#rest = Buffer.alloc(0);
    return { before, isOver: true };
  }
}

function nameOf(body: Buffer): HelloReading {
  const fields = new Fields(body);
  fields.bytes(2 + 32);
  fields.vector(1);
  fields.vector(2);
  fields.vector(1);
  if (!fields.isValid) return INVALID;
  // Extensions may be missing altogether.
  if (fields.left === 0) return { kind: 'hello', name: undefined };
  const extensions = new Fields(fields.vector(2));
  const names: Buffer[] = [];
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type === SERVER_NAME) names.push(content);
  }
  if (!fields.isValid || fields.left > 0 || !extensions.isValid || names.length > 1) return INVALID;
  return names[0] ? hostNameOf(names[0]) : { kind: 'hello', name: undefined };
}

/** Exactly one name of the one type that exists: servers differ about which of several they take. */
function hostNameOf(content: Buffer): HelloReading {
  const outer = new Fields(content);
  const list = new Fields(outer.vector(2));
  const type = list.number(1);
  const name = list.vector(2);
  const isRight = outer.isValid && outer.left === 0 && list.isValid && list.left === 0;
  if (!isRight || type !== HOST_NAME || name.length === 0 || name.some((byte) => byte <= 32 || byte > 126))
    return INVALID;
  return { kind: 'hello', name: name.toString('latin1') };
}
