// A sandbox on a worker is used as one of the server itself: over real processes and real sandboxes.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { ExecLine } from '../../src/schema/exec.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import type { Worker } from '../../src/schema/worker.ts';
import { describeWith, itOnOwnHost } from '../support/requires.ts';
import { visit } from '../support/servers/preview-visit.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { placeOnWorkers, workerEnv } from '../support/servers/worker-beside.ts';
import { until } from '../support/until.ts';

const SECRET = { SVC_AUTH_WORKER_TOKEN: 'a secret of one afternoon, no more' };

describeWith(['bwrap'], 'a sandbox on a worker', () => {
  let server: TestServer;
  let worker: ChildProcess;
  let sandbox: Sandbox;
  let client: Client;

  const api = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    });
    return { status: answer.status, body: answer.status === 204 ? undefined : await answer.json() };
  };
  const workers = async () => (await api('GET', '/workers')).body as Worker[];
  const svc = (...args: string[]) => runCli([...args, '--server', server.url], server.env);
  const startWorker = (env: Record<string, string> = {}) => {
    const args = [
      'worker',
      '--id',
      'w1',
      '--control-plane',
      server.url,
      '--heartbeat-interval',
      '1s',
      '--listen',
      '127.0.0.1:0',
    ];
    const own = workerEnv(server.env, join(server.home, 'worker'));
    const labels = { SVC_WORKER_LABELS: '{"gpu": "a100"}' };
    const all = { ...own, ...SECRET, ...labels, ...env };
    return spawn(process.execPath, [cli, ...args], { env: all, stdio: 'ignore' });
  };

  beforeAll(async () => {
    const env = { ...SECRET, SVC_SERVER_PREVIEW_DOMAIN: 'localhost' };
    server = await startServer({ onWorker: false, env });
    client = new Client({ server: server.url });
    worker = startWorker();
    await until('the worker is heard', async () =>
      (await workers()).some(({ id, rpc_url }) => id === 'w1' && rpc_url),
    );
    await placeOnWorkers(client);
    const made = await api('POST', '/sandboxes', { provider: 'userspace' });
    expect(made).toMatchObject({ status: 201, body: { worker_id: 'w1', state: 'running' } });
    sandbox = made.body as Sandbox;
  });
  afterAll(async () => {
    await api('DELETE', `/sandboxes/${sandbox.id}`);
    worker.kill('SIGTERM');
    await server.stop();
    removeHome(server.home);
  });

  it('runs commands, plain and as a stream, with a deadline', async () => {
    const plain = await client.exec(sandbox.id, { command: 'echo $((6*7)); echo oops >&2; exit 3' });
    expect(plain).toMatchObject({ exit_code: 3, stdout: '42\n', stderr: 'oops\n' });
    const lines: ExecLine[] = [];
    for await (const line of client.execStream(sandbox.id, {
      command: 'head -c 3000000 /dev/zero | tr "\\0" x',
    }))
      lines.push(line);
    const sizes = lines.map((line) =>
      'data' in line && typeof line.data === 'string' ? line.data.length : 0,
    );
    expect(sizes.reduce((sum, each) => sum + each, 0)).toBe(3_000_000);
    expect(lines.at(-1)).toMatchObject({ exit_code: 0 });
    const late = client.exec(sandbox.id, { command: 'sleep 60', timeout: '1s' });
    await expect(late).rejects.toMatchObject({ code: 'timeout' });
  });

  it('keeps the output of detached commands', async () => {
    const { exec_id } = await client.exec(sandbox.id, {
      command: 'echo one; sleep 1; echo two',
      detach: true,
    });
    const lines: string[] = [];
    for await (const line of client.execs.output(sandbox.id, exec_id, { follow: true }))
      if ('data' in line) lines.push(String(line.data));
    expect(lines.join('')).toBe('one\ntwo\n');
    expect((await client.logs(sandbox.id)).join('\n')).toContain('two');
  });

  it('opens a terminal', async () => {
    const socket = await client.openExec(sandbox.id, { command: 'sh', tty: true, cols: 99, rows: 20 });
    await socket.write('stty size\n');
    let seen = '';
    let isResized = false;
    for await (const event of socket.events()) {
      if (event.type === 'exit') {
        expect(event.exit_code).toBe(4);
        break;
      }
      if (event.type === 'started') continue;
      seen += event.data.toString();
      if (isResized || !seen.includes('20 99')) continue;
      isResized = true;
      socket.resize({ cols: 70, rows: 10 });
      await socket.write('stty size; exit 4\n');
    }
    expect(seen).toContain('10 70');
  });

  it('reads and writes files, ranges too', async () => {
    const bytes = Buffer.alloc(5_000_000, 'the quick brown fox ');
    await client.files.write(sandbox.id, '/workspace/deep/f.bin', bytes);
    const { stdout } = await client.exec(sandbox.id, { command: 'wc -c < /workspace/deep/f.bin' });
    expect(stdout?.trim()).toBe('5000000');
    const url = `${server.url}/api/v1/sandboxes/${sandbox.id}/files?path=/workspace/deep/f.bin`;
    const part = await fetch(url, { headers: { range: 'bytes=4-8' } });
    expect([part.status, await part.text()]).toEqual([206, 'quick']);
  });

  it('previews a port', async () => {
    const port = 8123;
    await client.exec(sandbox.id, {
      command: `mkdir -p www; echo hello > www/index.html; cd www; python3 -m http.server ${port}`,
      detach: true,
    });
    const { url } = await client.preview(sandbox.id, port);
    const { host, port: at } = new URL(url);
    await until('the page', async () => (await visit(Number(at), host)).text.includes('hello'));
    expect(await client.get(sandbox.id)).toMatchObject({ preview_domain: 'localhost' });
  });

  it('is set up by its template', async () => {
    await client.templates.create({
      name: 'made',
      image: 'host',
      provider: 'userspace',
      setup: ['echo ready > /workspace/flag'],
    });
    const made = await client.spawn({ template: 'made' });
    expect(made.worker_id).toBe('w1');
    expect((await client.exec(made.id, { command: 'cat /workspace/flag' })).stdout).toBe('ready\n');
    await client.destroy(made.id);
  });

  it('names its worker, and the worker list counts it', async () => {
    const list = (await svc('sandbox', 'list')).stdout;
    expect(list.split('\n')[0]).toContain('WORKER');
    expect(list).toMatch(new RegExp(`^${sandbox.id} .* w1 `, 'm'));
    expect((await svc('sandbox', 'list', '--worker', 'local')).stdout).toBe('No sandboxes.\n');
    expect((await svc('worker', 'list')).stdout).toMatch(/^w1 +online +1 +- +.*userspace 1/m);
    const shown = JSON.parse((await svc('worker', 'get', 'w1', '--json')).stdout);
    expect(shown).toMatchObject({ active_sandboxes: 1, active_by_provider: { userspace: 1 } });
  });

  it('keeps a drain waiting until it has ended', async () => {
    const drain = (...more: string[]) =>
      runCli(['worker', 'drain', 'w1', '--server', server.url, ...more], server.env);
    const other = await client.spawn({ provider: 'userspace' });
    const late = await drain('--wait', '--timeout', '1s');
    expect(late).toMatchObject({ code: 9, stderr: expect.stringContaining('still holds 2 sandboxes') });
    for (const id of [sandbox.id, other.id]) expect(late.stderr).toContain(id);
    expect((await workers()).find(({ id }) => id === 'w1')).toMatchObject({ drain: true });
    await client.destroy(other.id);
    const one = await drain('--wait', '--timeout', '0s', '--json');
    expect(JSON.parse(one.stdout).error).toMatchObject({
      ...{ code: 'timeout', details: { active_sandboxes: 1, sandboxes: [sandbox.id] } },
    });
    expect((await drain('--undo')).code).toBe(0);
    expect((await drain('--undo', '--wait')).code).toBe(2);
    await until('the worker takes sandboxes', async () =>
      (await workers()).some(({ id, status }) => id === 'w1' && status === 'online'),
    );
  });

  it('is placed by the name and the labels of its worker, or refused with the reason', async () => {
    const create = (...more: string[]) => svc('sandbox', 'create', '--json', ...more);
    const { worker_id, id } = JSON.parse((await create('--label', 'gpu=a100')).stdout);
    expect(worker_id).toBe('w1');
    await client.destroy(id);
    const refused = await create('--label', 'gpu=h100');
    expect(refused.code).toBe(5);
    expect(JSON.parse(refused.stdout).error).toMatchObject({
      ...{ code: 'precondition_failed', details: { reason: 'worker_mismatch' } },
      message: expect.stringContaining('No worker has the label gpu=h100. Existing labels: gpu=a100.'),
    });
    expect((await svc('sandbox', 'create', '--worker', 'w9')).stderr).toContain('There is no worker w9.');
    const asked = await svc('sandbox', 'admission', '--label', 'gpu=h100');
    expect(asked.stdout).toContain('No worker has the label gpu=h100.');
    expect((await svc('worker', 'list')).stdout).toContain('gpu=a100');
    expect(await api('POST', '/sandboxes', { worker_labels: { 'a b': 'c' } })).toMatchObject({ status: 400 });
  });

  itOnOwnHost('no such server runs sandboxes', 'is not placed on the server, which is drained', async () => {
    const emptied = await svc('worker', 'drain', 'local', '--wait');
    expect(emptied).toMatchObject({ code: 0, stdout: 'local takes no new sandboxes and holds none.\n' });
    const draining = await svc('sandbox', 'create', '--worker', 'local');
    expect(draining).toMatchObject({ code: 8, stderr: expect.stringContaining('Worker local is draining') });
  });

  it('keeps a command running while its lifetime is extended', async () => {
    const running = client.exec(sandbox.id, { command: 'sleep 3; echo done' });
    for (const ttl of ['2h', '3h']) await client.extend(sandbox.id, ttl);
    expect(await running).toMatchObject({ exit_code: 0, stdout: 'done\n' });
  });

  it('outlives a restart of its worker, detached commands with their output', async () => {
    const { exec_id } = await client.exec(sandbox.id, {
      command: 'echo before; sleep 4; echo after',
      detach: true,
    });
    const attached = client.exec(sandbox.id, { command: 'sleep 600' });
    const lost = expect(attached).rejects.toMatchObject({
      ...{ code: 'unavailable', message: expect.stringMatching(/worker w1/i) },
    });
    worker.kill('SIGKILL');
    await lost;
    worker = startWorker();
    await until(
      'it answers again',
      async () =>
        (await client.exec(sandbox.id, { command: 'echo up' }).catch(() => undefined))?.stdout === 'up\n',
      60_000,
    );
    const lines: string[] = [];
    for await (const line of client.execs.output(sandbox.id, exec_id, { follow: true }))
      if ('data' in line) lines.push(String(line.data));
    expect(lines.join('')).toBe('before\nafter\n');
  });

  it('answers 501 when the worker has sessions switched off', async () => {
    worker.kill('SIGTERM');
    await new Promise((resolve) => worker.once('exit', resolve));
    worker = startWorker({ SVC_WORKER_SESSIONS: 'false' });
    const refused = () =>
      client.exec(sandbox.id, { command: 'true' }).then(
        () => undefined,
        (error) => error,
      );
    let last: Awaited<ReturnType<typeof refused>>;
    const isRefused = async () => {
      last = await refused();
      return last?.code === 'not_implemented';
    };
    await until('the refusal', isRefused, 60_000);
    expect(last).toMatchObject({ message: expect.stringContaining('w1') });
    // Each server learns of it with the next heartbeat that it receives.
    await until('no link to a preview', async () => !('preview_domain' in (await client.get(sandbox.id))));
  });
});
