// Frames in and out: `u32 length, u8 type, u32 stream, payload, u32 tag`. A payload is handed on only after its tag was
// seen, so a cut or forged frame delivers nothing. At most one frame is held.
import { AgentFault } from './fault.ts';
import { FRAME_MAX, FRAME_MIN } from './protocol.ts';

export type FrameSink = (type: number, stream: number, payload: Buffer) => void;

const LENGTH_BYTES = 4;
const TAG_BYTES = 4;

/** Cuts a byte stream into frames and hands each to the sink, in order. */
export class FrameParser {
  readonly #tag: number;
  readonly #sink: FrameSink;
  /** Made when a length is cut: most never are. */
  #length: Buffer | undefined;
  #lengthHave = 0;
  #body: Buffer | undefined;
  #bodyHave = 0;

  constructor(tag: number, sink: FrameSink) {
    this.#tag = tag;
    this.#sink = sink;
  }

  /**
   * Takes the next bytes. Payloads may be views of `chunk`. Throws AgentFault for a length out of range or a wrong tag
   * (and whatever the sink throws); after a throw the parser is of no more use.
   */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at = this.#body ? this.#fill(chunk, at, this.#body) : this.#begin(chunk, at);
  }

  #begin(chunk: Buffer, at: number): number {
    if (this.#lengthHave === 0 && chunk.length - at >= LENGTH_BYTES) {
      const start = at + LENGTH_BYTES;
      const end = start + checkedLength(chunk.readUInt32LE(at));
      if (end <= chunk.length) this.#deliver(chunk.subarray(start, end));
      else this.#body = Buffer.allocUnsafeSlow(end - start);
      return Math.min(end, this.#body ? start : end);
    }
    this.#length ??= Buffer.alloc(LENGTH_BYTES);
    const taken = chunk.copy(this.#length, this.#lengthHave, at);
    this.#lengthHave += taken;
    if (this.#lengthHave === LENGTH_BYTES) {
      this.#body = Buffer.allocUnsafeSlow(checkedLength(this.#length.readUInt32LE(0)));
      this.#lengthHave = 0;
    }
    return at + taken;
  }

  #fill(chunk: Buffer, at: number, body: Buffer): number {
    const taken = chunk.copy(body, this.#bodyHave, at);
    this.#bodyHave += taken;
    if (this.#bodyHave === body.length) {
      this.#body = undefined;
      this.#bodyHave = 0;
      this.#deliver(body);
    }
    return at + taken;
  }

  #deliver(body: Buffer): void {
    const end = body.length - TAG_BYTES;
    if (body.readUInt32LE(end) !== this.#tag) throw new AgentFault('wrong tag');
    this.#sink(body[0] as number, body.readUInt32LE(1), body.subarray(5, end));
  }
}

function checkedLength(length: number): number {
  if (length < FRAME_MIN || length > FRAME_MAX) throw new AgentFault(`frame length ${length}`);
  return length;
}

export interface FrameFields {
  type: number;
  stream: number;
  tag: number;
}

/** The bytes before the last `rest` bytes of the payload: length, type, stream and `first`, the payload's beginning. */
export function frameHead(fields: FrameFields, first: Buffer | number[], rest: number): Buffer {
  const head = Buffer.allocUnsafe(LENGTH_BYTES + 5 + first.length);
  head.writeUInt32LE(FRAME_MIN + first.length + rest, 0);
  head[4] = fields.type;
  head.writeUInt32LE(fields.stream, 5);
  head.set(first, LENGTH_BYTES + 5);
  return head;
}

/** Encodes a frame into one buffer; `parts` together are its payload. */
export function encodeFrame(fields: FrameFields, ...parts: (Buffer | number[])[]): Buffer {
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + FRAME_MIN + size);
  frame.writeUInt32LE(FRAME_MIN + size, 0);
  frame[4] = fields.type;
  frame.writeUInt32LE(fields.stream, 5);
  let at = LENGTH_BYTES + 5;
  for (const part of parts) {
    frame.set(part, at);
    at += part.length;
  }
  frame.writeUInt32LE(fields.tag, at);
  return frame;
}
