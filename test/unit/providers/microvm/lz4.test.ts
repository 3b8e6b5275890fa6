// LZ4 blocks put together by hand: what repeats, what overlaps, and everything that reaches out of its bounds.
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { unpackLz4 } from '../../../../src/providers/microvm/lz4.ts';
import { lz4Literals } from '../../../support/hosts/guest-kernel.ts';
import { itWith } from '../../../support/requires.ts';

/** A frame of blocks, each given as bytes. */
function frame(...blocks: number[][]): Buffer {
  const parts = blocks.map((block) => {
    const head = Buffer.alloc(4);
    head.writeUInt32LE(block.length);
    return Buffer.concat([head, Buffer.from(block)]);
  });
  return Buffer.concat([Buffer.from('02214c18', 'hex'), ...parts]);
}

const [A, B] = [0x61, 0x62];

it('copies overlapping matches', async () => {
  // Two literals, then eight bytes from two back, then one literal.
  const packed = frame([0x24, A, B, 2, 0, 0x10, A]);
  expect(String(await unpackLz4(packed, 11))).toBe('ababababab'.concat('a'));
});

it('reads lengths beyond a nibble, and beyond a byte', async () => {
  const bytes = Buffer.from('x'.repeat(15 + 255 + 3));
  expect(await unpackLz4(lz4Literals(bytes), bytes.length)).toEqual(bytes);
  // A match of 15 + 4 + 255 + 1.
  const packed = frame([0x1f, A, 1, 0, 255, 1]);
  expect(String(await unpackLz4(packed, 276))).toBe('a'.repeat(276));
});

it.each([
  ['nothing', Buffer.alloc(0), 1],
  ['a length without a block', frame([0x10, A]).subarray(0, 8), 1],
  ['a truncated block', frame([0x20, A, B]).subarray(0, -1), 2],
  ['an empty block', Buffer.from('02214c1800000000', 'hex'), 1],
  ['literals beyond the block', frame([0xf0, 200, A]), 300],
  ['more than the size', frame([0x30, A, A, A]), 2],
  ['a match before the start', frame([0x10, A, 2, 0]), 5],
  ['a match with offset zero', frame([0x10, A, 0, 0]), 5],
  ['a match into the previous block', frame([0x10, A], [0x10, A, 2, 0]), 6],
  ['a match beyond the size', frame([0x1f, A, 1, 0, 255, 255, 255, 0]), 30],
  ['a length that never ends', frame([0xf0, ...Array(50).fill(255)]), 100],
])('refuses %s', async (_, packed, size) => {
  await expect(unpackLz4(packed, size)).rejects.toMatchObject({ code: 'provider_error' });
});

itWith(['lz4'], 'unpacks what the tool packs, over several blocks', async () => {
  const words = Array.from({ length: 2_000_000 }, (_, at) => `${(at * 7919) % 10_007} `).join('');
  const bytes = Buffer.from(words);
  expect(bytes.length).toBeGreaterThan(8 * 1024 * 1024);
  const packed = execFileSync('lz4', ['-l', '-c'], { input: bytes, maxBuffer: 2 ** 26 });
  expect((await unpackLz4(packed, bytes.length)).equals(bytes)).toBe(true);
});
