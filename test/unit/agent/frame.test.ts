// Frames: whatever the pieces, the same frames come out; whatever the bytes, nothing that was not sent comes out.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AgentFault } from '../../../src/agent/fault.ts';
import { encodeFrame, FrameParser } from '../../../src/agent/frame.ts';
import { FRAME_MAX, PAYLOAD_MAX } from '../../../src/agent/protocol.ts';

const TAG = 0x31323334;
const frame = fc.record({
  type: fc.integer({ min: 0, max: 255 }),
  stream: fc.nat({ max: 0xffff_ffff }),
  payload: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
});
type Frame = { type: number; stream: number; payload: Buffer };

const encode = (frames: Frame[]) =>
  Buffer.concat(frames.map(({ type, stream, payload }) => encodeFrame({ type, stream, tag: TAG }, payload)));

/** What comes out of the parser, and whether it refused. */
function parse(chunks: Buffer[]): { frames: Frame[]; isRefused: boolean } {
  const frames: Frame[] = [];
  const parser = new FrameParser(TAG, (type, stream, payload) =>
    frames.push({ type, stream, payload: Buffer.from(payload) }),
  );
  try {
    for (const chunk of chunks) parser.push(chunk);
  } catch (error) {
    expect(error).toBeInstanceOf(AgentFault);
    return { frames, isRefused: true };
  }
  return { frames, isRefused: false };
}

function cut(bytes: Buffer, sizes: number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

describe('the frame parser', () => {
  test('returns the same frames for any chunks', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 20 }), sizes, (frames, cuts) => {
        expect(parse(cut(encode(frames), cuts))).toEqual({ frames, isRefused: false });
      }),
      { numRuns: 300 },
    );
  });

  test('with one byte changed, delivers only frames that were sent', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { minLength: 1, maxLength: 8 }),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (frames, where, flip) => {
          const bytes = encode(frames);
          const at = where % bytes.length;
          bytes[at] = bytes.readUInt8(at) ^ flip;
          const sent = parse([encode(frames)]).frames.map((each) => JSON.stringify(each));
          const got = parse(cut(bytes, [7, 1, 64])).frames.map((each) => JSON.stringify(each));
          expect(got.length).toBeLessThanOrEqual(sent.length);
          // A changed length can swallow whole frames, so those behind it come sooner than sent.
          const strange = got.filter((each) => !sent.includes(each));
          expect(strange.length).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('throws nothing but AgentFault, whatever bytes arrive', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 100 }), { maxLength: 10 }),
        (chunks) => void parse(chunks.map(Buffer.from)),
      ),
      {
        numRuns: 300,
      },
    );
  });

  test.each([8, FRAME_MAX + 1, 0, 0xffff_ffff])('refuses length %i before the bytes arrive', (length) => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(length);
    expect(parse([head])).toEqual({ frames: [], isRefused: true });
    expect(parse(cut(head, [1]))).toEqual({ frames: [], isRefused: true });
  });

  test('accepts the largest frame', () => {
    const largest = { type: 4, stream: 1, payload: Buffer.alloc(PAYLOAD_MAX, 1) };
    expect(parse(cut(encode([largest]), [65_536])).frames).toEqual([largest]);
  });

  test('delivers nothing before the tag, and nothing after a wrong tag', () => {
    const bytes = encode([{ type: 4, stream: 1, payload: Buffer.from('x') }]);
    expect(parse([bytes.subarray(0, -1)]).frames).toEqual([]);
    bytes.writeUInt32LE(TAG + 1, bytes.length - 4);
    expect(parse([bytes])).toEqual({ frames: [], isRefused: true });
  });
});
