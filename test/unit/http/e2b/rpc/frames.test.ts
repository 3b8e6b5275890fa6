// Frames of Connect streams: however a body is cut, the same messages come out of it; what is broken is refused.
import { expect, it, vi } from 'vitest';
import { lastFrame, messageFrame, requestFrames } from '../../../../../src/http/e2b/rpc/frames.ts';

async function* cut(bytes: Buffer, size: () => number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + size();
    yield bytes.subarray(at, end);
    at = end;
  }
}
const read = async (bytes: Buffer, size: () => number, limit = 1000) => {
  const messages: unknown[] = [];
  for await (const message of requestFrames(cut(bytes, size), limit))
    messages.push(JSON.parse(message.toString()));
  return messages;
};

it('reads messages from pieces of any size', async () => {
  const sent = [{ start: { process: { pid: 1 } } }, {}, { data: { input: { stdin: 'ä€' } } }];
  const body = Buffer.concat([...sent.map(messageFrame), lastFrame({})]);
  for (const size of [1, 2, 3, 5, 7, 64, body.length]) expect(await read(body, () => size)).toEqual(sent);
});

it('refuses frames that are compressed, too large or incomplete', async () => {
  const frame = messageFrame({ a: 'x'.repeat(100) });
  const compressed = Buffer.from(frame);
  compressed[0] = 1;
  await expect(read(compressed, () => 10)).rejects.toMatchObject({ code: 'bad_request' });
  await expect(read(frame, () => 10, 50)).rejects.toMatchObject({ code: 'payload_too_large' });
  await expect(read(frame.subarray(0, -1), () => 10)).rejects.toMatchObject({ code: 'bad_request' });
  await expect(read(Buffer.from([0, 255, 255, 255, 255]), () => 10)).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

it('joins a frame of many pieces once, and tells what it keeps', async () => {
  const body = messageFrame({ a: 'x'.repeat(400_000) });
  const concat = vi.spyOn(Buffer, 'concat');
  const kept: number[] = [];
  for await (const message of requestFrames(
    cut(body, () => 1000),
    1_000_000,
    (bytes) => kept.push(bytes),
  ))
    expect(message.length).toBe(body.length - 5);
  const { length: joins } = concat.mock.calls;
  concat.mockRestore();
  expect(joins).toBeLessThan(4);
  expect(Math.max(...kept)).toBe(body.length);
});
