// The address of a server that others read in the database.
import { expect, it } from 'vitest';
import { replicaUrl } from '../../../src/domain/replica-url.ts';

const server = { host: '127.0.0.1', port: 0, advertise_url: '' };

it.each([
  [{ host: '0.0.0.0', port: 7423 }, undefined, 'http://db-host:7423'],
  [{ host: '127.0.0.1', port: 0 }, 'http://127.0.0.1:41234', 'http://db-host:41234'],
  [{ host: '::', port: 0 }, 'http://[::]:41234', 'http://db-host:41234'],
  [{ host: '::1', port: 7423 }, undefined, 'http://db-host:7423'],
  [{ host: '10.0.0.4', port: 0 }, 'http://10.0.0.4:41234', 'http://10.0.0.4:41234'],
  [{ host: 'svc-1.internal', port: 7423 }, undefined, 'http://svc-1.internal:7423'],
  [{ advertise_url: 'https://svc-1.internal' }, 'http://127.0.0.1:41234', 'https://svc-1.internal'],
])('%j bound to %s is %s', (given, bound, url) => {
  expect(replicaUrl({ ...server, ...given }, 'db-host', bound)).toBe(url);
});

it('keeps the address where the host has no name', () => {
  expect(replicaUrl({ ...server, port: 7423 }, undefined)).toBe('http://127.0.0.1:7423');
});
