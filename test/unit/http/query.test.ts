// Query strings: one decoding, one value a name, conversion by the schema only.
import fc from 'fast-check';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { readQuery, splitQuery } from '../../../src/http/query.ts';
import { queryValidator } from '../../../src/http/validation.ts';
import { SandboxListQuery } from '../../../src/schema/sandbox.ts';

const ANY = Type.Object({}, { additionalProperties: true });
const read = (text: string, schema = ANY as never) => ({ ...readQuery(splitQuery(text), schema) });

describe('a query string', () => {
  it('reads back any encoded text', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), { maxKeys: 20 }),
        (query) => {
          const pairs = Object.entries(query).filter(([name]) => name !== '');
          const text = pairs
            .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
            .join('&');
          expect(Object.entries(read(text)).sort()).toEqual(pairs.sort());
        },
      ),
      { numRuns: 500 },
    );
  });

  it('never fails with anything but bad_request', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        try {
          read(text);
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad_request' });
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it.each(['a=1&a=2', 'a=1&%61=2', 'a=%zz', 'a=%ff', '%=1'])('refuses %s', (text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });

  it('refuses a flood of parameters', () => {
    const flood = Array.from({ length: 300 }, (_, i) => `k${i}=1`).join('&');
    expect(() => read(flood)).toThrow('too many');
  });

  it('treats __proto__ as a plain name', () => {
    const query = readQuery(splitQuery('__proto__=x&constructor=y'), ANY);
    expect(Object.keys(query)).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});

describe('the query of the sandbox list', () => {
  const check = queryValidator(SandboxListQuery);
  const verdict = (text: string) => {
    const result = check(splitQuery(text));
    return 'error' in result ? result.error.message : result.value;
  };

  it('accepts filters and labels', () => {
    expect(verdict('limit=5&include_ended=true&state=running&metadata.a%20b=c%26d')).toEqual({
      limit: 5,
      include_ended: true,
      state: 'running',
      'metadata.a b': 'c&d',
    });
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['limit=0x10', 'limit'],
    ['limit=1e2', 'limit'],
    ['limit=%205', 'limit'],
    ['limit=', 'limit'],
    ['include_ended=1', 'include_ended'],
    ['include_ended=TRUE', 'include_ended'],
    ['state=gone', 'running'],
    ['stat=running', '"stat"'],
    ['metadata=x', '"metadata"'],
    ['metadatax.a=b', '"metadatax.a"'],
    [`metadata.${'k'.repeat(65)}=v`, 'metadata.'],
    ['toString=1', '"toString"'],
  ])('refuses %s with the reason', (text, named) => {
    expect(verdict(text)).toContain(named);
  });
});
