// The inbox: order and bytes are kept, and what holding them costs is bounded.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Inbox, type Piece } from '../../../src/agent/inbox.ts';

/** Bytes of each channel with their order, neighbours joined. */
function runs(pieces: Piece[]): [number, string][] {
  const joined: [number, string][] = [];
  for (const { channel, data } of pieces) {
    const last = joined.at(-1);
    if (last?.[0] === channel) last[1] += data.toString('latin1');
    else joined.push([channel, data.toString('latin1')]);
  }
  return joined;
}

const piece = fc.record({
  channel: fc.integer({ min: 0, max: 2 }),
  data: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    fc.integer({ min: 1, max: 65_536 }).map((size) => Buffer.alloc(size, size % 251)),
  ),
});

test('returns pieces in order, also with reads in between', () => {
  const step = fc.oneof({ weight: 3, arbitrary: piece }, { weight: 1, arbitrary: fc.constant(undefined) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const inbox = new Inbox();
      const [sent, taken]: [Piece[], Piece[]] = [[], []];
      const take = () => {
        const next = inbox.take();
        if (next) taken.push(next);
        return next;
      };
      for (const each of steps) {
        if (each) inbox.push(each.channel, each.data);
        if (each) sent.push(each);
        else take();
      }
      while (take());
      expect(inbox.isEmpty).toBe(true);
      expect(runs(taken)).toEqual(runs(sent));
    }),
  );
});

test('a flood of single bytes on changing channels costs a few times its size', () => {
  const inbox = new Inbox();
  const before = process.memoryUsage();
  for (let count = 0; count < 65_536; count += 1) {
    const chunk = Buffer.allocUnsafeSlow(16_384);
    inbox.push(1 + (count % 2), chunk.subarray(7, 8));
  }
  const after = process.memoryUsage();
  expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(300 * 1024 * 1024);
  let count = 0;
  while (inbox.take()) count += 1;
  expect(count).toBe(65_536);
});
