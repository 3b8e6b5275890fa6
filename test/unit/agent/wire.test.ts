// Values in payloads: what is written is read; what is not there is refused; absurd numbers are clamped.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AgentFault, ShortRead } from '../../../src/agent/fault.ts';
import { WireReader, WireWriter } from '../../../src/agent/wire.ts';

test('values are read as they were written', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.nat({ max: 0xffff_ffff }),
      fc.nat({ max: 255 }),
      (text, large, small) => {
        const reader = new WireReader(
          new WireWriter().u8(small).str(text).u32(large).u64(BigInt(large)).bytes(),
        );
        expect([reader.u8(), reader.str(), reader.u32(), reader.u64()]).toEqual([small, text, large, large]);
        reader.end();
      },
    ),
  );
});

test('a payload cut at any byte is a short read', () => {
  const bytes = new WireWriter().u32(1).str('abc').u64(5n).bytes();
  for (let end = 0; end < bytes.length; end += 1) {
    const reader = new WireReader(bytes.subarray(0, end));
    expect(() => [reader.u32(), reader.str(), reader.u64()]).toThrow(ShortRead);
  }
});

test('a string longer than its payload is refused', () => {
  expect(() => new WireReader(new WireWriter().u32(0xffff_ffff).bytes()).str()).toThrow(ShortRead);
});

test('extra bytes are refused', () => {
  expect(() => new WireReader(Buffer.alloc(1)).end()).toThrow(AgentFault);
});

test('numbers beyond exact integers are clamped', () => {
  const most = Buffer.alloc(8, 0xff);
  expect(new WireReader(most).u64()).toBe(Number.MAX_SAFE_INTEGER);
  expect(new WireReader(most).i64()).toBe(-1);
  expect(new WireReader(Buffer.from('0000000000000080', 'hex')).i64()).toBe(-Number.MAX_SAFE_INTEGER);
});

test('invalid UTF-8 stays readable', () => {
  const name = new WireWriter().str(Buffer.from([0x61, 0xff, 0x62])).bytes();
  expect(new WireReader(name).str()).toBe('a\ufffdb');
});

test('a writer grows to any size', () => {
  const long = 'é'.repeat(100_000);
  expect(new WireReader(new WireWriter().str('a').str(long).bytes().subarray(5)).str()).toBe(long);
});
