// What a worker does where nothing says which server it serves and where it listens.
import { expect, it } from 'vitest';
import { controlPlaneUrl, listenAddress } from '../../../src/app/worker-listen.ts';
import { realClock } from '../../../src/host/clock.ts';
import { testConfig } from '../../support/config.ts';

const url = (control_plane_url: string, server: { host?: string; port?: number } = {}) => {
  const config = testConfig({});
  return controlPlaneUrl({
    worker: { ...config.worker, control_plane_url },
    server: { ...config.server, host: '127.0.0.1', port: 7423, ...server },
  });
};
const listen = (listen_addr: string, server: string) => listenAddress({ listen_addr }, server, realClock());

it('serves the server that its configuration describes, if that is on loopback', () => {
  expect(url('')).toBe('http://127.0.0.1:7423');
  expect(url('', { host: '::1', port: 80 })).toBe('http://[::1]:80');
  expect(url('https://svc.internal/api/v1')).toBe('https://svc.internal');
  for (const server of [{ host: '0.0.0.0' }, { host: 'svc.internal' }, { port: 0 }])
    expect(() => url('', server)).toThrow('The URL of the control plane is missing.');
  for (const text of ['ftp://svc', 'svc:7423', 'http://me@svc', 'http://svc/?a', 'http://svc/#a'])
    expect(() => url(text)).toThrow('The URL of the control plane is not valid.');
});

it('listens on a free port of loopback for a server of this machine, otherwise on its route there', async () => {
  for (const server of ['http://127.0.0.1:7423', 'http://localhost:7423', 'http://[::1]:7423'])
    expect(await listen('auto', server)).toEqual({ host: '127.0.0.1', port: 0 });
  await expect(listen('auto', 'https://no-such-host.invalid')).rejects.toMatchObject({
    code: 'unavailable',
    remedy: expect.stringContaining('--listen'),
  });
});

it('listens on the configured address, and not at all when it is empty', async () => {
  expect(await listen('10.0.0.5:7424', 'https://svc.internal')).toEqual({ host: '10.0.0.5', port: 7424 });
  expect(await listen('', 'https://svc.internal')).toBeUndefined();
  await expect(listen('automatic', 'https://svc.internal')).rejects.toMatchObject({ code: 'bad_request' });
});
