// The engine's framing of standard streams, cut anywhere.

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { StderrTail } from '../../../../src/providers/container/agent-streams.ts';
import { AttachedStream } from '../../../../src/providers/container/attached-stream.ts';

const frame = (stream: number, text: string) => {
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([head, Buffer.from(text)]);
};

function pair(): { wire: Duplex; stream: AttachedStream; stderr: StderrTail } {
  const wire = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const stderr = new StderrTail();
  const stream = new AttachedStream(wire as Socket, (bytes) => stderr.add(bytes));
  return { wire, stream, stderr };
}

it('separates standard output and standard error, wherever the bytes are cut', async () => {
  const bytes = Buffer.concat([frame(1, 'one'), frame(2, 'bad'), frame(1, ''), frame(1, 'two')]);
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { wire, stream, stderr } = pair();
    wire.push(bytes.subarray(0, cut));
    wire.push(bytes.subarray(cut));
    wire.push(null);
    let text = '';
    for await (const chunk of stream) text += chunk;
    expect(text).toBe('onetwo');
    expect(stderr.tail()).toBe('bad');
  }
});

it('ends at an invalid frame', async () => {
  const { wire, stream } = pair();
  const failed = new Promise((resolve) => stream.once('error', resolve));
  wire.push(frame(7, 'x'));
  stream.resume();
  expect(await failed).toBeInstanceOf(Error);
});

it('stops reading while nobody reads its output', async () => {
  const { wire, stream } = pair();
  const piece = frame(1, 'x'.repeat(60_000));
  let pushed = 0;
  while (pushed < 100 && wire.push(piece)) pushed++;
  for (let i = 0; i < 20; i++) wire.push(piece);
  await new Promise((resolve) => setImmediate(resolve));
  expect(stream.readableLength).toBeLessThan(300_000);
  stream.destroy();
});

it('keeps the end of standard error, for any amount', () => {
  const said = new StderrTail();
  for (let i = 0; i < 100; i++) said.add(Buffer.alloc(100_000, 'y'));
  said.add(Buffer.from('last words'));
  expect(said.tail().length).toBeLessThanOrEqual(4096);
  expect(said.tail()).toMatch(/last words$/);
});
