// A JSON body is read in one way where it has come as a whole and in another where it arrives: both give the same.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Hold } from '../../../../src/domain/byte-ledger.ts';
import { type BodyTerms, jsonBody } from '../../../../src/http/body/json-body.ts';

type Way = (text: string) => IncomingMessage;

function message(headers: Record<string, string>): IncomingMessage {
  return Object.assign(new Readable({ read: () => {} }), { headers }) as unknown as IncomingMessage;
}

const stated = (text: string) => ({ 'content-length': String(Buffer.byteLength(text)) });

/** Each of a body of its own. */
const WAYS: [string, Way][] = [
  [
    'has come',
    (text) => {
      const body = message(stated(text));
      body.push(text);
      body.push(null);
      return body;
    },
  ],
  [
    'has come, but not its end',
    (text) => {
      const body = message(stated(text));
      body.push(text);
      void setImmediate().then(() => body.push(null));
      return body;
    },
  ],
  [
    'comes in pieces',
    (text) => {
      const body = message(stated(text));
      body.push(text.slice(0, 3));
      void setImmediate().then(() => body.push(text.slice(3)) && body.push(null));
      return body;
    },
  ],
  [
    'does not state its length',
    (text) => {
      const body = message({ 'transfer-encoding': 'chunked' });
      body.push(text);
      body.push(null);
      return body;
    },
  ],
];

const terms = (facts: Partial<BodyTerms> = {}): BodyTerms => ({ limit: 100_000, read: JSON.parse, ...facts });
const read = async (body: IncomingMessage, given = terms()) => jsonBody(body, given);

it.each(WAYS)('reads a body that %s, and its end', async (_, way) => {
  const body = way('{"ttl":"1h","metadata":{"a":"ü"}}');
  const closed = once(body, 'close');
  expect(await read(body)).toEqual({ ttl: '1h', metadata: { a: 'ü' } });
  await closed;
  expect(body.readableEnded).toBe(true);
});

it.each(WAYS)('refuses what is wrong with a body that %s', async (_, way) => {
  await expect(read(way('{"ttl":'))).rejects.toMatchObject({ code: 'bad_request' });
  await expect(read(way('['.repeat(100)))).rejects.toMatchObject({
    message: 'The body has too many values or is nested too deeply.',
  });
  await expect(read(way('{"ttl":"1h"}'), terms({ limit: 11 }))).rejects.toMatchObject({
    code: 'payload_too_large',
  });
});

it.each(WAYS)('keeps a body that %s on an account only from 4 KiB on', async (_, way) => {
  let held = 0;
  const grow = (bytes: number) => {
    held += bytes;
  };
  const hold = () => ({ grow }) as Hold;
  await read(way(JSON.stringify('x'.repeat(4000))), terms({ hold }));
  expect(held).toBe(0);
  await read(way(JSON.stringify('x'.repeat(5000))), terms({ hold }));
  expect(held).toBe(5002);
});
