// Texts that PostgreSQL would refuse come back as they were.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeText, encodeJson, encodeText } from '../../../../src/store/postgres/text.ts';

const hostile = fc
  .array(fc.constantFrom('\0', '\u{f0000}', '0', '1', 'a', '\u{1f600}', '\\'), { maxLength: 12 })
  .map((parts) => parts.join(''));

it('stores every text without NUL and gives it back', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(encodeText(text)).not.toContain('\0');
      expect(decodeText(encodeText(text))).toBe(text);
    }),
  );
});

it('keeps a part of a text a part of it', () => {
  fc.assert(
    fc.property(hostile, hostile, (text, part) => {
      const isPart =
        (text + part + text).includes(part) && encodeText(text + part + text).includes(encodeText(part));
      expect(isPart).toBe(true);
    }),
  );
});

it('replaces lone surrogates, as a file in UTF-8 does', () => {
  expect(encodeText('a\ud800b')).toBe('a\ufffdb');
  expect(encodeText('\u{1f600}')).toBe('\u{1f600}');
  expect(encodeJson({ a: ['\ud800', '\0'] })).toEqual({ json: '{"a":["\ufffd","\u{f0000}0"]}' });
});
