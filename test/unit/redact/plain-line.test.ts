// The short way gives what the long way gives, or nothing.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { redactor } from '../../../src/redact/engine.ts';
import { openLog } from '../../../src/redact/logger.ts';
import { plainLines } from '../../../src/redact/plain-line.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

const SECRET = 'canary-one';
const rules = redactor({ secrets: [SECRET], schemaSecretPaths: ['hidden'] });
const short = plainLines(rules);
const TIME = '2026-01-02T03:04:05.000Z';

/** The line of a log that has no short way. */
async function long(fields: object, message: string): Promise<string> {
  const written: string[] = [];
  const never = { ...rules, isPlain: () => false };
  const log = openLog({
    ...{ level: 'info', format: 'json', redactor: never, clock: fakeClock() },
    sink: async (text) => void written.push(text),
  });
  log.logger.info(fields, message);
  await log.close();
  return written.join('');
}

const line = (fields: object, message = 'request') => short({ level: 'info', time: TIME, fields, message });

it('writes an ordinary line as the long way does', async () => {
  const fields = { request_id: 'r-1', status: 200, ms: 0.5, gone: undefined, aborted: true, owner: null };
  expect(line(fields)).toBe(await long(fields, 'request'));
});

it.each([
  ['a known secret', { note: `x ${SECRET} y` }],
  ['a secret key', { api_key: 'abc' }],
  ['a path that is secret by schema', { hidden: 'abc' }],
  ['a shape', { note: 'Bearer abcdefgh' }],
  ['an escape', { note: 'a"b' }],
  ['a name of the line itself', { message: 'x' }],
  ['a name that needs escaping', { 'a"b': 1 }],
  ['something nested', { error: new Error('x') }],
  ['a number that JSON does not know', { n: Number.NaN }],
  ['a long text', { note: 'x'.repeat(3000) }],
  ['a getter', Object.defineProperty({}, 'x', { enumerable: true, get: () => Number(Symbol()) })],
])('leaves %s to the long way', (_, fields) => expect(line(fields)).toBeUndefined());

it('leaves a secret in the message to the long way, each time', () => {
  for (let n = 0; n < 3; n += 1) expect(line({}, `saw ${SECRET}`)).toBeUndefined();
});

it('heeds secrets that come later', () => {
  let secret = '';
  const learning = { ...rules, isPlain: (text: string) => !secret || !text.includes(secret) };
  const way = plainLines(learning);
  const say = () => way({ level: 'info', time: TIME, fields: { a: 'later' }, message: '' });
  expect(say()).toBeDefined();
  secret = 'later';
  expect(say()).toBeUndefined();
});

it('agrees with the long way on whatever it takes', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(SECRET, 'token=abc', 'https://u:p@h/', '"', 'plain'),
  );
  const value = fc.oneof(text, fc.double(), fc.boolean(), fc.constant(null), fc.array(text));
  const cases = fc.dictionary(fc.oneof(text, fc.constantFrom('a', 'status', 'password', 'level')), value);
  await fc.assert(
    fc.asyncProperty(cases, text, async (fields, message) => {
      const taken = line({ ...fields }, message);
      // Both are dressed for the terminal after this; compared is what they say.
      if (taken) expect(JSON.parse(taken)).toEqual(JSON.parse(await long(fields, message)));
    }),
    { numRuns: 500 },
  );
});
