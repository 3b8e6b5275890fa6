// The opening of a session from the agent's end, for hosts that are relayed. Their stream has no past and is authenticated
// already, so HELLO is its first frame.
import type { Duplex } from 'node:stream';
import type { Clock } from '../domain/ports.ts';
import { AgentFault } from './fault.ts';
import { FRAME_MIN, NONCE_BYTES, TYPE } from './protocol.ts';

const HELLO_MS = 5000;
/** Version, nonce and capabilities. */
const PAYLOAD_BYTES = 1 + NONCE_BYTES + 4;
const HELLO_BYTES = 4 + FRAME_MIN + PAYLOAD_BYTES;
const NONCE_AT = 10;

export interface Hello {
  tag: number;
  nonce: Buffer;
  /** The bytes that followed. */
  rest: Buffer;
}

/** Reads the HELLO and leaves the stream paused. Rejects with AgentFault after 5 s, at another frame, or at the stream's end. */
export function readHello(stream: Duplex, clock: Clock): Promise<Hello> {
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    const leave = () => {
      timer.cancel();
      stream.pause();
      stream.off('data', onData).off('end', onEnd).off('close', onEnd);
    };
    const fail = (why: string) => {
      leave();
      reject(new AgentFault(why));
    };
    const onEnd = () => fail('the stream ended before HELLO');
    const onData = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      if (seen.length < HELLO_BYTES) return;
      const hello = decode(seen);
      if (!hello) return fail('the first frame is not a HELLO');
      leave();
      resolve(hello);
    };
    const timer = clock.after(HELLO_MS, () => fail('no HELLO in time'));
    if (stream.destroyed || stream.readableEnded) return onEnd();
    stream.on('data', onData).on('end', onEnd).on('close', onEnd).resume();
  });
}

function decode(bytes: Buffer): Hello | undefined {
  const isHello =
    bytes.readUInt32LE(0) === FRAME_MIN + PAYLOAD_BYTES &&
    bytes[4] === TYPE.HELLO &&
    bytes.readUInt32LE(5) === 0;
  const tag = bytes.subarray(HELLO_BYTES - 4, HELLO_BYTES);
  if (!isHello || tag.includes(0)) return undefined;
  const nonce = Buffer.from(bytes.subarray(NONCE_AT, NONCE_AT + NONCE_BYTES));
  return { tag: tag.readUInt32LE(0), nonce, rest: bytes.subarray(HELLO_BYTES) };
}
