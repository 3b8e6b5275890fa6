// Templates against a real server and real sandboxes: setup that works, that fails, and what is left then.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { eachRuntime } from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

eachRuntime([], 'templates', ({ env, ordinaryUser }) => {
  let server: TestServer;
  let client: Api;
  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser });
    client = api(server.url);
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });
  const make = (name: string, facts: object) =>
    client.call('POST', '/templates', { name, image: 'host', ...facts });
  const spawn = (name: string, body: object = {}) =>
    client.call<Sandbox>('POST', `/templates/${name}/spawn`, body);

  it('run setup in order, with the environment, and show its output in the console', async () => {
    const setup = ['echo one > /workspace/log; echo hello', 'echo "$WHO" >> /workspace/log'];
    expect((await make('good', { setup, env: { WHO: 'template' } })).status).toBe(201);
    const { status, body } = await spawn('good', { env: { WHO: 'me' }, metadata: { a: 'b' } });
    expect([status, body.template, body.metadata]).toEqual([201, 'good', { a: 'b' }]);
    expect((await client.sh(body.id, 'cat /workspace/log; echo $WHO')).stdout).toBe('one\nme\nme\n');
    const logs = await client.call<string[]>('GET', `/sandboxes/${body.id}/logs`);
    expect(logs.body.join('\n')).toMatch(/hello$/m);
    await client.destroy(body.id);
  });

  it('report the setup command that failed and its output, and leave nothing behind', async () => {
    await make('bad', { setup: ['true', 'echo no such thing >&2; exit 3', 'true'] });
    const { status, body } = await spawn('bad');
    expect([status, body]).toMatchObject([
      400,
      {
        code: 'bad_request',
        details: { setup_command: 2, exit_code: 3, output: 'no such thing\n' },
      },
    ]);
    const [row] = (await client.call<Sandbox[]>('GET', '/sandboxes?state=error&template=bad')).body;
    expect(row).toMatchObject({ end_reason: 'spawn_failed' });
    expect(remains(server, [row?.id ?? ''])).toEqual(NOTHING);
  });

  it('end a running setup when the sandbox is destroyed', async () => {
    await make('slow', { setup: ['sleep 600'] });
    const spawned = spawn('slow');
    let id = '';
    await expect
      .poll(async () => {
        const { body } = await client.call<Sandbox[]>('GET', '/sandboxes?template=slow');
        id = body[0]?.id ?? '';
        return id;
      })
      .not.toBe('');
    await client.destroy(id);
    expect((await spawned).status).toBe(409);
    expect(remains(server, [id])).toEqual(NOTHING);
  });

  it('prewarm sandboxes, give them out at once, and replace them', async () => {
    const { instance, beside = instance, home } = server;
    const running = () => agents([beside, home]).length;
    const before = running();
    await make('warm', { setup: ['echo ready > /workspace/made'], prewarm: 2 });
    await until('two are ready', () => running() === before + 2);
    expect((await client.call<Sandbox[]>('GET', '/sandboxes')).body).toEqual([]);
    const { status, body } = await spawn('warm', { ttl: '5m', metadata: { a: 'b' } });
    expect([status, body.state, body.metadata]).toEqual([201, 'running', { a: 'b' }]);
    expect((await client.sh(body.id, 'cat /workspace/made')).stdout).toBe('ready\n');
    await until('another is ready', () => running() === before + 3);
    await client.call('DELETE', '/templates/warm');
    await until('only the taken one is left', () => running() === before + 1);
    await client.destroy(body.id);
    await until('nothing is left', () => running() === before);
  });

  it('are managed from the command line', async () => {
    const svc = (...args: string[]) => runCli(['template', ...args], { SVC_SERVER: server.url });
    const json = async (...args: string[]) => JSON.parse((await svc(...args, '--json')).stdout);
    const yaml = 'name: cli\nimage: host\nenv:\n  A: "1"\nsetup:\n  - echo hi > /workspace/hi\n';
    const made = await runCli(
      ['template', 'create', '-f', '-', '--memory', '64'],
      { SVC_SERVER: server.url },
      yaml,
    );
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(await json('get', 'cli')).toMatchObject({ version: 1, memory_mb: 64, env: { A: '***' } });
    expect((await svc('create', 'cli', '--image', 'host')).code).toBe(5);
    const masked = await svc('update', 'cli', '--memory', '32', '--env', 'B=***');
    expect([masked.code, masked.stderr]).toEqual([2, expect.stringContaining('env.B is masked')]);
    expect(await json('update', 'cli', '--memory', '32')).toMatchObject({ version: 2, env: { A: '***' } });
    expect((await svc('update', 'cli', '-f', '-', '--if-match', '1')).code).toBe(2);
    const file = join(server.home, 'template.json');
    writeFileSync(file, '{"image": "host", "vcpus": 1}');
    expect((await svc('update', 'cli', '-f', file, '--if-match', '1')).code).toBe(5);
    const replaced = await json('update', 'cli', '-f', file, '--if-match', '2');
    expect(replaced).toMatchObject({ version: 3, memory_mb: 512 });
    expect((await svc('list')).stdout).toMatch(/^NAME +VERSION .*\ncli +3 +host/);
    const { id } = await json('spawn', 'cli', '--metadata', 'a=b');
    expect((await client.call<Sandbox>('GET', `/sandboxes/${id}`)).body).toMatchObject({ template: 'cli' });
    await client.destroy(id);
    expect((await svc('delete', 'cli')).stdout).toBe('cli deleted\n');
    expect((await svc('delete', 'cli')).code).toBe(4);
  });
});
