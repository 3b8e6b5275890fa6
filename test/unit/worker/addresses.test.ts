// Where a worker listens and what it tells of that.
import { describe, expect, it } from 'vitest';
import { parseListen } from '../../../src/domain/listen-address.ts';
import { advertisedUrl } from '../../../src/worker/addresses.ts';

describe('an address to listen on', () => {
  it.each([
    ['10.0.0.5:7424', '10.0.0.5', 7424],
    ['[fd00::5]:1', 'fd00::5', 1],
    [':7424', '', 7424],
    ['worker.internal:0', 'worker.internal', 0],
  ])('%s', (text, host, port) => expect(parseListen(text)).toEqual({ host, port }));

  it.each([
    '',
    '7424',
    '10.0.0.5',
    '10.0.0.5:',
    ':65536',
    'fd00::5:1',
    '[10.0.0.5]:1',
    'a b:1',
    'http://a:1',
    ':-1',
  ])('rejects %j', (text) => expect(() => parseListen(text)).toThrow(/not a listen address/));
});

describe('the advertised address', () => {
  const told = (advertise: string, listen: string, over: { allowLoopback?: boolean; isTls?: boolean } = {}) =>
    advertisedUrl({ advertise, listen: parseListen(listen), isTls: false, allowLoopback: false, ...over })(
      7424,
    );

  it.each([
    ['', '10.0.0.5:0', 'http://10.0.0.5:7424'],
    ['', '[fd00::5]:0', 'http://[fd00::5]:7424'],
    ['', 'worker.internal:0', 'http://worker.internal:7424'],
    ['https://worker.example/svc/', '0.0.0.0:7424', 'https://worker.example/svc'],
    ['http://10.0.0.9:80', ':7424', 'http://10.0.0.9'],
  ])('%j at %s is %s', (advertise, listen, url) => expect(told(advertise, listen)).toBe(url));

  it('is https with TLS, and may be loopback if that is allowed', () => {
    expect(told('', '10.0.0.5:0', { isTls: true })).toBe('https://10.0.0.5:7424');
    expect(told('', '127.0.0.1:0', { allowLoopback: true })).toBe('http://127.0.0.1:7424');
  });

  it('is loopback for a control plane on this machine', () => {
    const near = { allowLoopback: true, isNear: true };
    expect(told('', ':0', near)).toBe('http://127.0.0.1:7424');
    expect(told('', '[::]:0', near)).toBe('http://127.0.0.1:7424');
    expect(told('', '10.0.0.5:0', near)).toBe('http://10.0.0.5:7424');
  });

  it.each([
    ['', ':7424'],
    ['', '0.0.0.0:7424'],
    ['', '[::]:7424'],
    ['', '[::ffff:0.0.0.0]:7424'],
    ['', '127.0.0.1:7424'],
    ['', '127.9.9.9:7424'],
    ['', '[::1]:7424'],
    ['', '[::ffff:127.0.0.1]:7424'],
    ['', 'localhost:7424'],
    ['', '169.254.169.254:7424'],
    ['', '224.0.0.1:7424'],
    ['http://0.0.0.0:7424', '10.0.0.5:1'],
    ['http://[::]:7424', '10.0.0.5:1'],
    ['http://0x7f.1:7424', '10.0.0.5:1'],
    ['http://2130706433:7424', '10.0.0.5:1'],
    ['http://localhost', '10.0.0.5:1'],
    ['http://localhost.', '10.0.0.5:1'],
    ['ftp://10.0.0.5', '10.0.0.5:1'],
    ['http://user:pw@10.0.0.5', '10.0.0.5:1'],
    ['http://10.0.0.5/?a', '10.0.0.5:1'],
    ['10.0.0.5:7424', '10.0.0.5:1'],
  ])('%j at %s is refused', (advertise, listen) => expect(() => told(advertise, listen)).toThrow());
});
