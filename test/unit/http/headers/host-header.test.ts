// The Host header: well formed always, a name of this machine while nobody has to log in.
import { describe, expect, it } from 'vitest';
import { hostCheck } from '../../../../src/http/headers/host-header.ts';
import { API_KEY, httpConfig } from '../../../support/servers/http-server.ts';

const verdict = (check: ReturnType<typeof hostCheck>, host: string | undefined, version = '1.1') => {
  try {
    check(host, version);
    return 'taken';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('without authentication', () => {
  const check = hostCheck(httpConfig({ server: { cors_allowed_origins: ['https://svc.example.com'] } }));
  it.each([
    ['localhost:7423', 'taken'],
    ['LOCALHOST', 'taken'],
    ['127.0.0.1:7423', 'taken'],
    ['[::1]:7423', 'taken'],
    ['app.localhost', 'taken'],
    ['svc.example.com', 'taken'],
    ['evil.example.com', 'forbidden'],
    ['localhost.evil.com:7423', 'forbidden'],
    ['127.0.0.1.evil.com', 'forbidden'],
    ['a b', 'bad_request'],
    ['x/y', 'bad_request'],
    ['user@localhost', 'bad_request'],
    ['localhost:port', 'bad_request'],
    ['localhost:123456', 'bad_request'],
    ['', 'bad_request'],
    ['-x', 'bad_request'],
    ['[zz]', 'bad_request'],
  ])('%j is %s', (host, expected) => expect(verdict(check, host)).toBe(expected));

  it('requires the header only in HTTP/1.1', () => {
    expect(verdict(check, undefined)).toBe('bad_request');
    expect(verdict(check, undefined, '1.0')).toBe('taken');
  });
});

it.each([
  { auth: { enabled: true, api_key: API_KEY } },
  { server: { host: '0.0.0.0', allow_insecure: true } },
  { server: { cors_allowed_origins: ['*'] } },
])('accepts any name with %o', (options) => {
  expect(verdict(hostCheck(httpConfig(options)), 'svc.example.com')).toBe('taken');
});
