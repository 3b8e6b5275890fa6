// Memory of reads that is used again: no chunk changes while somebody has it, whatever the speeds are.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { dialTcp } from '../../../src/egress/dial.ts';
import { Upstream } from '../../../src/egress/upstream.ts';
import { realClock } from '../../../src/host/clock.ts';

const BYTES = Buffer.alloc(4 * 1024 * 1024, Buffer.from(Array.from({ length: 997 }, (_, at) => at % 256)));

async function upstreamOf(first: Buffer): Promise<Upstream> {
  const server = createServer((socket) => void socket.on('error', () => undefined).end(first));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const dialed = await dialTcp('127.0.0.1', port, new AbortController().signal);
  // What the target says first comes before anybody reads.
  await turn();
  await turn();
  const upstream = new Upstream(dialed, { pass: () => 0 }, realClock());
  onTestFinished(() => void upstream.destroy());
  return upstream;
}

it('keeps what was not given back as it was', async () => {
  const upstream = await upstreamOf(BYTES);
  const hash = createHash('sha256');
  const held: Buffer[] = [];
  let largest = 0;
  for await (const chunk of upstream) {
    held.push(chunk as Buffer);
    largest = Math.max(largest, (chunk as Buffer).length);
    if (held.length < 5) continue;
    const oldest = held.shift() as Buffer;
    hash.update(oldest);
    upstream.again(oldest);
    await turn();
  }
  for (const chunk of held) hash.update(chunk);
  expect(hash.digest('hex')).toBe(createHash('sha256').update(BYTES).digest('hex'));
  expect(largest).toBeGreaterThan(4096);
});

it('uses memory again once it was given back', async () => {
  const upstream = await upstreamOf(BYTES);
  const seen = new Set<ArrayBufferLike>();
  let count = 0;
  for await (const chunk of upstream) {
    if ((chunk as Buffer).buffer.byteLength < 65_536) continue;
    count += 1;
    seen.add((chunk as Buffer).buffer);
    upstream.again(chunk as Buffer);
  }
  expect(count).toBeGreaterThan(30);
  expect(seen.size).toBeLessThan(count / 2);
});

it('never gives away memory that it shares', async () => {
  const upstream = await upstreamOf(Buffer.from('hello'));
  const [chunk] = (await once(upstream, 'data')) as [Buffer];
  upstream.again(chunk);
  upstream.again(Buffer.from('of a pool'));
  expect(chunk.toString()).toBe('hello');
});
