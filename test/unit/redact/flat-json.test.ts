// Fields that are written without a copy are written as the copy is, also the second time, and no secret is in them.
import { describe, expect, it } from 'vitest';
import { redactor } from '../../../src/redact/engine.ts';
import { growingRedactor } from '../../../src/redact/growing.ts';

const SECRET = 'canary-one';
const { flat, quoted, value } = redactor({ secrets: [SECRET], schemaSecretPaths: ['by_schema'] });

const FLAT: Record<string, object> = {
  'no fields': {},
  'a request': { request_id: 'r-1', route: '/sandboxes/{id}', status: 200, ms: 0.125, aborted: true },
  'numbers in their shortest form': { a: -0, b: 1e21, c: 1e-7, d: Number.MAX_SAFE_INTEGER },
  'quotes, control characters and halves of pairs': { text: '"\\\n\u0000\u2028\ud800' },
  'a known secret in a text': { text: `a ${SECRET} b` },
  'the shape of a secret': { text: 'Authorization: Bearer abcdefghijklmnop' },
  'names of digits, which come first': { b: 1, 1: 'one' },
};

it.each(Object.entries(FLAT))('writes as the copy is: %s', (_, fields) => {
  const copied = JSON.stringify(value(fields)).slice(1, -1);
  expect([flat(fields), flat(fields)]).toEqual([copied, copied]);
});

const COPIED: Record<string, object> = {
  'a key that is secret by its name': { api_key: 'x' },
  'a key that is secret by the schema': { by_schema: 'x' },
  'a known secret as a key': { [SECRET]: 1 },
  'a name of the line itself': { message: 'x' },
  'a structure': { err: { name: 'Error' } },
  'a value that JSON leaves out': { none: undefined },
  'a number that JSON cannot write': { n: Number.NaN },
  'a long text': { text: 'x'.repeat(1025) },
  'many fields': Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`f${n}`, n])),
  'an object of a class': new Date(0),
};

it.each(Object.entries(COPIED))('leaves to the copy: %s', (_, fields) => {
  expect(flat(fields)).toBeUndefined();
});

describe('a text that repeats', () => {
  it('is masked from the moment on that it is a secret', () => {
    const growing = growingRedactor([]);
    const write = () => [growing.flat({ text: 'late-secret' }), growing.quoted('late-secret')];
    expect(write()).toEqual(['"text":"late-secret"', '"late-secret"']);
    growing.add(['late-secret']);
    expect(write()).toEqual(['"text":"[redacted]"', '"[redacted]"']);
  });

  it('is looked at again after another one', () => {
    const texts = ['one', `two ${SECRET}`, 'one', `two ${SECRET}`];
    expect(texts.map((text) => quoted(text))).toEqual([
      '"one"',
      '"two [redacted]"',
      '"one"',
      '"two [redacted]"',
    ]);
  });
});

it('writes nothing without a copy where the copy is made by further rules', () => {
  const further = { value: () => undefined, text: (text: string) => text.replace('host', '[host]') };
  const one = redactor({ secrets: [], further });
  expect(one.flat({ text: 'host' })).toBeUndefined();
});
