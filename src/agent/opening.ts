// Opening a session on a byte stream of unknown past: zeros, secret and HELLO go out, and everything that comes in is
// dropped until our own nonce comes back. What a dead session left in the stream is so never taken for an answer.
import type { Duplex } from 'node:stream';
import type { Clock, Random } from '../domain/ports.ts';
import { AgentFault, sandboxLost } from './fault.ts';
import { encodeFrame } from './frame.ts';
import { NONCE_BYTES, PROTOCOL_VERSION, SECRET_BYTES, TYPE, ZEROS } from './protocol.ts';
import { type Welcome, WelcomeSearch } from './welcome.ts';
import { WireWriter } from './wire.ts';

const TRIES = 3;
const TRY_MS = 2000;
const zeros = Buffer.alloc(ZEROS);

export interface OpeningDeps {
  stream: Duplex;
  /** 16 bytes, none of them zero. */
  secret: Buffer;
  clock: Clock;
  random: Random;
}

export interface Opened extends Welcome {
  tag: number;
}

/**
 * Opens up to three times, 2 s and 1 MiB each. The stream is left paused, with what followed the answer in `rest`.
 * Rejects with `unavailable`, or the signal's reason; the stream is then destroyed.
 */
export async function openWire(deps: OpeningDeps, signal?: AbortSignal): Promise<Opened> {
  // An error may come between two listeners; 'close' always follows it.
  deps.stream.on('error', () => undefined);
  try {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const opened = await tryOnce(deps, signal);
      if (opened) return checked(opened);
    }
    throw sandboxLost(new AgentFault('no answer to HELLO'));
  } catch (error) {
    deps.stream.destroy();
    throw error;
  }
}

function checked(opened: Opened): Opened {
  if (opened.version !== PROTOCOL_VERSION)
    throw sandboxLost(new AgentFault(`agent version ${opened.version}`));
  return opened;
}

async function tryOnce(deps: OpeningDeps, signal?: AbortSignal): Promise<Opened | undefined> {
  const { stream, secret, random } = deps;
  if (secret.length !== SECRET_BYTES) throw sandboxLost(new Error('the secret has a wrong length'));
  const nonce = random.bytes(NONCE_BYTES);
  const tag = withoutZeros(random.bytes(4)).readUInt32LE();
  const hello = new WireWriter().u8(PROTOCOL_VERSION).raw(nonce).u32(0).bytes();
  stream.write(Buffer.concat([zeros, secret, encodeFrame({ type: TYPE.HELLO, stream: 0, tag }, hello)]));
  const welcome = await answer(deps, new WelcomeSearch(nonce, tag), signal);
  return welcome && { ...welcome, tag };
}

/** The welcome; undefined when it is time to open again. */
function answer(
  deps: OpeningDeps,
  search: WelcomeSearch,
  signal?: AbortSignal,
): Promise<Welcome | undefined> {
  const { stream, clock } = deps;
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
    const onLost = (cause?: unknown) => refuse(sandboxLost(cause ?? new Error('the stream ended')));
    const onAbort = () => refuse(signal?.reason);
    const onData = (chunk: Buffer) => {
      const found = search.push(chunk);
      if (found || search.isExhausted) settle(found);
    };
    const timer = clock.after(TRY_MS, () => settle(undefined));
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    if (stream.destroyed || stream.readableEnded) return onLost();
    stream.on('data', onData).on('end', onLost).on('close', onLost).on('error', onLost).resume();
  });
}

function withoutZeros(bytes: Buffer): Buffer {
  return bytes.map((byte) => byte || 0x5a) as Buffer;
}
