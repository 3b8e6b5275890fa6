// Previews of real sandboxes, without a network: requests, uploads, events, WebSockets and hostile answers, and nothing is
// left of them afterwards.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import WebSocket from 'ws';
import { Client } from '../../src/client/client.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import {
  everywhere,
  inMachine,
  inMachineOnWorker,
  onWorkers,
  type Runtime,
} from '../support/hosts/matrix.ts';
import { visit } from '../support/servers/preview-visit.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const GUEST = readFileSync(join(packageRoot, 'test/support/servers/preview-guest.py'));

const previews = ({ env, ordinaryUser, onWorker }: Runtime) => {
  let server: TestServer;
  let client: Client;
  let port: number;
  let id: string;
  let host: string;

  beforeAll(async () => {
    const own = { SVC_SERVER_PREVIEW_DOMAIN: 'localhost' };
    server = await startServer({ env: { ...env, ...own }, ordinaryUser, onWorker });
    client = new Client({ server: server.url });
    port = Number(new URL(server.url).port);
    ({ id } = await client.spawn({ network: 'none' }));
    host = `8000-${id}.localhost`;
    await client.files.write(id, '/workspace/guest.py', GUEST);
    await client.execs.detach(id, { command: 'exec python3 /workspace/guest.py 8000' });
    await until('the guest listens', async () => (await visit(port, host)).status === 200, 90_000);
  });
  afterAll(async () => {
    try {
      await client.destroy(id);
      expect(remains(server, [id])).toEqual(NOTHING);
    } finally {
      await client.close();
      await server.stop();
      removeHome(server.home);
    }
  });

  it('show a listening program under the link', async () => {
    const { url, expires_at } = await client.preview(id, 8000);
    expect([url, expires_at]).toEqual([`http://${host}:${port}/`, (await client.get(id)).expires_at]);
    expect((await visit(port, host, '/a?b')).text).toBe(`${host} /a?b`);
    expect(await visit(port, `8001-${id}.localhost`)).toMatchObject({ status: 502 });
    expect(await visit(port, '8000-sb-aaaaaaaaaaaa.localhost')).toMatchObject({ status: 502 });
  });

  it('carry uploads completely', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'abcdefg');
    const { text } = await visit(port, host, '/', { method: 'POST', body });
    expect(text).toBe(createHash('sha256').update(body).digest('hex'));
  });

  it('pass on events as they happen', async () => {
    const asking = get({ port, host: '127.0.0.1', path: '/events', headers: { host }, agent: false });
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    const [first] = (await once(answer, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^data: 0\n\n/);
    asking.on('error', () => undefined).destroy();
  });

  it('join WebSockets', async () => {
    const ws = new WebSocket(`ws://127.0.0.1:${port}/ws`, { headers: { host } });
    await once(ws, 'open');
    ws.send('hello');
    expect(String((await once(ws, 'message'))[0])).toBe('hello');
    ws.close();
    await once(ws, 'close');
  });

  it('survive a hostile guest, and leave no descriptor behind', async () => {
    const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
    const before = descriptors();
    for (let n = 0; n < 20; n++) {
      expect(await visit(port, host, '/endless')).toMatchObject({ status: 502 });
      await expect(visit(port, host, '/short')).rejects.toThrow();
    }
    expect((await visit(port, host)).status).toBe(200);
    await until('descriptors are as before', () => descriptors() <= before + 2);
  });
};

for (const declare of [everywhere, inMachine, onWorkers, inMachineOnWorker])
  declare(['python3'], 'previews', previews);
