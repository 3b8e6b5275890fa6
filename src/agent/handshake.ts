// Opens a session on a byte stream with an unknown past: zeros, the secret and HELLO go out; everything that comes in is
// dropped until our own nonce comes back in a WELCOME. The nonce is new each time, so data that a dead session left in the
// stream is never taken for the answer.
import type { Duplex } from 'node:stream';
import type { Clock, Random } from '../domain/ports.ts';
import { AgentFault, sandboxLost } from './fault.ts';
import { encodeFrame } from './frame.ts';
import { FEWEST_ZEROS, NONCE_BYTES, PROTOCOL_VERSION, SECRET_BYTES, TYPE, ZEROS } from './protocol.ts';
import { WireReader, WireWriter } from './wire.ts';

const TRIES = 3;
const TRY_MS = 2000;
/** The only try on a stream of a worker, which may have to open its own session first. */
const ONLY_TRY_MS = 5000;
const zeros = Buffer.alloc(ZEROS);

export interface HandshakeDeps {
  stream: Duplex;
  /** 16 bytes, none of them zero. Absent for a stream without a past that is authenticated already: one of a worker. */
  secret?: Buffer | undefined;
  /** A connection to the agent itself over which nothing has been sent: no frame has to be ended. */
  isNew?: boolean;
  clock: Clock;
  random: Random;
  /** Where the sandbox is, for errors: `on worker edge-1`. */
  on?: string;
}

export interface OpenedWire extends Welcome {
  tag: number;
}

/**
 * Opens up to three times, 2 s and 1 MiB each, or once within 5 s without a secret. The stream is left paused, with what followed the answer in `rest`.
 * Rejects with `unavailable`, or the signal's reason; the stream is then destroyed.
 */
export async function openWire(deps: HandshakeDeps, signal?: AbortSignal): Promise<OpenedWire> {
  // An error may come between two listeners; 'close' always follows it.
  deps.stream.on('error', () => undefined);
  try {
    const tries = deps.secret ? TRIES : 1;
    for (let attempt = 0; attempt < tries; attempt += 1) {
      const opened = await tryOnce(deps, attempt === 0 && deps.isNew === true, signal);
      if (opened) return checked(opened, deps.on);
    }
    throw sandboxLost(new AgentFault('no answer to HELLO'), deps.on);
  } catch (error) {
    deps.stream.destroy();
    throw error;
  }
}

function checked(opened: OpenedWire, on: string | undefined): OpenedWire {
  if (opened.version !== PROTOCOL_VERSION)
    throw sandboxLost(new AgentFault(`agent version ${opened.version}`), on);
  return opened;
}

async function tryOnce(
  deps: HandshakeDeps,
  isNew: boolean,
  signal?: AbortSignal,
): Promise<OpenedWire | undefined> {
  const { stream, secret, random } = deps;
  if (secret && secret.length !== SECRET_BYTES) throw sandboxLost(new Error('the secret has a wrong length'));
  const nonce = random.bytes(NONCE_BYTES);
  const tag = withoutZeros(random.bytes(4)).readUInt32LE();
  const hello = new WireWriter().u8(PROTOCOL_VERSION).raw(nonce).u32(0).bytes();
  const frame = encodeFrame({ type: TYPE.HELLO, stream: 0, tag }, hello);
  // Not as one buffer, which would be a copy of the zeros for each session.
  if (secret) stream.write(isNew ? zeros.subarray(0, FEWEST_ZEROS) : zeros);
  stream.write(secret ? Buffer.concat([secret, frame]) : frame);
  const welcome = await answer(deps, new WelcomeSearch(nonce, tag), signal);
  return welcome && { ...welcome, tag };
}

/** The welcome; undefined when the attempt timed out. */
function answer(
  deps: HandshakeDeps,
  search: WelcomeSearch,
  signal?: AbortSignal,
): Promise<Welcome | undefined> {
  const { stream, clock } = deps;
  const withinMs = deps.secret ? TRY_MS : ONLY_TRY_MS;
  return new Promise((resolve, reject) => {
    const leave = () => {
      timer.cancel();
      stream.pause();
      stream.off('data', onData).off('end', onLost).off('close', onLost).off('error', onLost);
      signal?.removeEventListener('abort', onAbort);
    };
    const settle = (welcome: Welcome | undefined) => {
      leave();
      resolve(welcome);
    };
    const refuse = (reason: unknown) => {
      leave();
      reject(reason);
    };
    const onLost = (cause?: unknown) => refuse(sandboxLost(cause ?? new Error('the stream ended'), deps.on));
    const onAbort = () => refuse(signal?.reason);
    const onData = (chunk: Buffer) => {
      const found = search.push(chunk);
      if (found || search.isExhausted) settle(found);
    };
    const timer = clock.after(withinMs, () => settle(undefined));
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    if (stream.destroyed || stream.readableEnded) return onLost();
    stream.on('data', onData).on('end', onLost).on('close', onLost).on('error', onLost).resume();
  });
}

function withoutZeros(bytes: Buffer): Buffer {
  return bytes.map((byte) => byte || 0x5a) as Buffer;
}

/** What the agent says of itself. */
export interface AgentFacts {
  version: number;
  /** The agent's build, at most 200 characters. The sandbox reports it: for the log only. */
  build: string;
  /** Changes with every start of the agent. */
  boot: bigint;
  /** Bits of CAPABILITY; 0 from an older agent. */
  capabilities: number;
}

export interface Welcome extends AgentFacts {
  /** The bytes behind it: the first ones of the session. */
  rest: Buffer;
}

const DISCARD_MAX = 1024 * 1024;
const WELCOME_MAX = 1024;
/** Length, type and stream come before the nonce. */
const BEFORE_NONCE = 9;

export class WelcomeSearch {
  readonly #nonce: Buffer;
  readonly #tag: number;
  #kept: Buffer = Buffer.alloc(0);
  #seen = 0;

  constructor(nonce: Buffer, tag: number) {
    this.#nonce = nonce;
    this.#tag = tag;
  }

  /** More than 1 MiB arrived without an answer. */
  get isExhausted(): boolean {
    return this.#seen > DISCARD_MAX;
  }

  push(chunk: Buffer): Welcome | undefined {
    this.#seen += chunk.length;
    const bytes = this.#kept.length > 0 ? Buffer.concat([this.#kept, chunk]) : chunk;
    let keepFrom = Math.max(0, bytes.length - BEFORE_NONCE - NONCE_BYTES);
    for (let at = bytes.indexOf(this.#nonce); at >= 0; at = bytes.indexOf(this.#nonce, at + 1)) {
      if (at < BEFORE_NONCE) continue;
      const found = this.#read(bytes, at - BEFORE_NONCE);
      if (found === 'cut') {
        keepFrom = at - BEFORE_NONCE;
        break;
      }
      if (found) return found;
    }
    this.#kept = Buffer.from(bytes.subarray(keepFrom));
    return undefined;
  }

  #read(bytes: Buffer, start: number): Welcome | 'cut' | undefined {
    const length = bytes.readUInt32LE(start);
    if (bytes[start + 4] !== TYPE.WELCOME || length > WELCOME_MAX || length < BEFORE_NONCE + NONCE_BYTES)
      return undefined;
    const end = start + 4 + length;
    if (end > bytes.length) return 'cut';
    if (bytes.readUInt32LE(end - 4) !== this.#tag) return undefined;
    return decode(bytes.subarray(start + BEFORE_NONCE + NONCE_BYTES, end - 4), bytes.subarray(end));
  }
}

function decode(payload: Buffer, rest: Buffer): Welcome | undefined {
  try {
    const reader = new WireReader(payload);
    const version = reader.u8();
    const build = reader.str().slice(0, 200);
    const boot = reader.raw(8).readBigUInt64LE();
    const capabilities = reader.position === payload.length ? 0 : reader.u32();
    return { version, build, boot, capabilities, rest };
  } catch {
    return undefined;
  }
}
