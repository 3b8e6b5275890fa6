// How a request came: only trusted proxies are believed.
import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { addressRanges } from '../../../../src/domain/address.ts';
import { forwardedFor, schemeOf } from '../../../../src/http/headers/forwarded.ts';

const isProxy = addressRanges(['10.0.0.0/8']);
const from = (remoteAddress: string, headers: Record<string, string>) =>
  ({ socket: { remoteAddress }, headers }) as unknown as IncomingMessage;

it.each([
  ['10.0.0.1', 'https', 'https'],
  ['::ffff:10.0.0.1', 'HTTPS', 'https'],
  ['10.0.0.1', 'https, http', 'http'],
  ['10.0.0.1', 'gopher', 'http'],
  ['192.0.2.1', 'https', 'http'],
  ['10.0.0.1', '', 'http'],
])('the peer %s with X-Forwarded-Proto %j used %s', (peer, said, expected) => {
  expect(schemeOf(from(peer, { 'x-forwarded-proto': said }), isProxy)).toBe(expected);
});

it.each([
  ['192.0.2.1', '6.6.6.6', '192.0.2.1'],
  ['10.0.0.1', '6.6.6.6, 192.0.2.7', '6.6.6.6, 192.0.2.7, 10.0.0.1'],
  ['10.0.0.1', 'evil\tthing, 192.0.2.7,', '192.0.2.7, 10.0.0.1'],
  ['10.0.0.1', '1.1.1.1,'.repeat(500), `${'1.1.1.1, '.repeat(32)}10.0.0.1`],
])('the peer %s with X-Forwarded-For %j forwards %s', (peer, said, expected) => {
  expect(forwardedFor(from(peer, { 'x-forwarded-for': said }), isProxy)).toBe(expected);
});
