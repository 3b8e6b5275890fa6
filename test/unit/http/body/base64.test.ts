// Base64 that loses nothing.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { strictBase64 } from '../../../../src/http/body/base64.ts';

it('decodes the output of an encoder', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(strictBase64(Buffer.from(bytes).toString('base64'), 'content')).toEqual(Buffer.from(bytes));
    }),
    { numRuns: 2_000 },
  );
});

it('accepts a text exactly when an encoder would write it', () => {
  const alphabet = fc.constantFrom(...'ABCabc019+/=-_ \n\0é');
  fc.assert(
    fc.property(fc.string({ unit: alphabet, maxLength: 12 }), (text) => {
      const canonical = Buffer.from(text, 'base64').toString('base64') === text;
      let taken = true;
      try {
        strictBase64(text, 'content');
      } catch (error) {
        expect(error).toMatchObject({ code: 'bad_request' });
        taken = false;
      }
      expect(taken).toBe(canonical);
    }),
    { numRuns: 20_000 },
  );
});
