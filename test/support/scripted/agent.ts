// An agent in memory that says what a test tells it to, honest or hostile. It opens like the real one (hunts for the
// secret, takes a HELLO, checks tags); everything after that is the test's.
import { type Duplex, duplexPair } from 'node:stream';
import { encodeFrame, FrameParser } from '../../../src/agent/frame.ts';
import type { AgentIo } from '../../../src/agent/io.ts';
import { KIND, METHOD, TYPE, ZEROS } from '../../../src/agent/protocol.ts';
import { openSession } from '../../../src/agent/session.ts';
import { WireReader, WireWriter } from '../../../src/agent/wire.ts';
import {
  type FakeClock,
  fakeClock,
  type RecordingLogger,
  recordingLogger,
  seededRandom,
} from '../fakes/ports.ts';
import { until } from '../until.ts';

export const SECRET = Buffer.from('0123456789abcdef');

export interface SeenFrame {
  type: number;
  stream: number;
  payload: Buffer;
}

export class ScriptedAgent {
  /** Every frame of the host after HELLO, in order. */
  readonly seen: SeenFrame[] = [];
  /** HELLOs, counted. */
  hellos = 0;
  /** false: a HELLO gets no answer. */
  answers = true;
  /** Called for each frame. */
  onFrame: (frame: SeenFrame) => void = () => undefined;
  /** What WELCOME announces; undefined: an agent of an earlier version, which says nothing. */
  capabilities: number | undefined;
  readonly wire: Duplex;
  readonly #secret: Buffer;
  #hunted = Buffer.alloc(0);
  #tag = 0;
  #parser: FrameParser | undefined;

  constructor(wire: Duplex, secret = SECRET) {
    this.wire = wire;
    this.#secret = secret;
    wire.on('data', (chunk: Buffer) => (this.#parser ? this.#parser.push(chunk) : this.#hunt(chunk)));
    wire.on('error', () => undefined);
  }

  /** Sends one frame of the session. */
  send(type: number, stream: number, payload: Buffer | WireWriter = Buffer.alloc(0), tag = this.#tag): void {
    const bytes = payload instanceof WireWriter ? payload.bytes() : payload;
    this.wire.write(encodeFrame({ type, stream, tag }, bytes));
  }

  data(stream: number, channel: number, bytes: Buffer | string): void {
    this.send(TYPE.DATA, stream, Buffer.concat([Buffer.from([channel]), Buffer.from(bytes)]));
  }

  started(stream: number): void {
    this.send(TYPE.STARTED, stream, new WireWriter().u32(7));
  }

  /** RESULT of an exec. */
  exited(stream: number, exit_code = 0, signal = 0): void {
    const code = Buffer.alloc(4);
    code.writeInt32LE(exit_code);
    this.send(TYPE.RESULT, stream, new WireWriter().raw(code).u32(signal).u8(0).u64(5000n));
  }

  error(stream: number, errno: number, text = 'no'): void {
    this.send(TYPE.ERROR, stream, new WireWriter().u32(errno).str(text));
  }

  /** The first frame of this type, waited for. */
  async frame(type: number, stream?: number): Promise<SeenFrame> {
    const matches = (frame: SeenFrame) =>
      frame.type === type && (stream === undefined || frame.stream === stream);
    return await until(`frame of type ${type}`, () => this.seen.find(matches), 5000);
  }

  count(type: number): number {
    return this.seen.filter((frame) => frame.type === type).length;
  }

  #hunt(chunk: Buffer): void {
    this.#hunted = Buffer.concat([this.#hunted, chunk]);
    const at = this.#hunted.indexOf(this.#secret);
    const start = at + this.#secret.length;
    // Over a link the stream has no past: it begins with HELLO.
    const before = this.#secret.length > 0 ? ZEROS : 0;
    if (at < before || this.#hunted.length < start + 4) return;
    const end = start + 4 + this.#hunted.readUInt32LE(start);
    if (this.#hunted.length < end) return;
    const frame = this.#hunted.subarray(start, end);
    const rest = this.#hunted.subarray(end);
    this.#hunted = Buffer.alloc(0);
    this.#welcome(frame);
    if (rest.length > 0) this.wire.emit('data', rest);
  }

  #welcome(hello: Buffer): void {
    this.hellos += 1;
    const nonce = hello.subarray(10, 26);
    this.#tag = hello.readUInt32LE(hello.length - 4);
    if (!this.answers) return;
    this.#parser = new FrameParser(this.#tag, (type, stream, payload) => {
      const frame = { type, stream, payload: Buffer.from(payload) };
      this.seen.push(frame);
      this.onFrame(frame);
    });
    const welcome = new WireWriter().raw(nonce).u8(1).str('scripted').u64(1n);
    if (this.capabilities !== undefined) welcome.u32(this.capabilities);
    this.send(TYPE.WELCOME, 0, welcome);
  }
}

export interface Scripted {
  io: AgentIo;
  agent: ScriptedAgent;
  clock: FakeClock;
  logger: RecordingLogger;
}

/** A session with a scripted agent, open. */
export async function openScripted(
  onFrame?: (frame: SeenFrame, agent: ScriptedAgent) => void,
  capabilities?: number,
  isRelayed = false,
): Promise<Scripted> {
  const [host, guest] = duplexPair({ readableHighWaterMark: 65_536, writableHighWaterMark: 65_536 });
  const agent = new ScriptedAgent(guest, isRelayed ? Buffer.alloc(0) : SECRET);
  agent.capabilities = capabilities;
  if (onFrame) agent.onFrame = (frame) => onFrame(frame, agent);
  const [clock, logger] = [fakeClock(), recordingLogger()];
  const secret = isRelayed ? undefined : SECRET;
  const io = await openSession({ stream: host, secret, clock, random: seededRandom(), logger });
  return { io, agent, clock, logger };
}

/** What a frame asks for: `exec`, `stat`, ... or undefined for frames that open nothing. */
export function asks(frame: SeenFrame): string | undefined {
  const table = frame.type === TYPE.OPEN ? KIND : frame.type === TYPE.CALL ? METHOD : {};
  return Object.entries(table).find(([, number]) => number === frame.payload[0])?.[0];
}

/** One `info` record. */
export function infoRecord(path: string, size = 0, type = 1): WireWriter {
  return new WireWriter().str(path).u8(type).u32(0o644).u64(BigInt(size)).u64(1000n).str('');
}

/** The arguments of an OPEN or CALL that came in one frame. */
export function argumentsOf(frame: SeenFrame): WireReader {
  return new WireReader(frame.payload, 1);
}
