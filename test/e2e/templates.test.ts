// Templates against a real server and real sandboxes: setup that works, that fails, and what is left then.
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { type Api, api } from '../support/api.ts';
import { NOTHING, remains } from '../support/auditor.ts';
import { eachRuntime } from '../support/matrix.ts';
import { removeHome, startServer, type TestServer } from '../support/server.ts';

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

  it('runs setup in order, with the environment, and shows its words in the console', async () => {
    const setup = ['echo one > /workspace/log; echo hello', 'echo "$WHO" >> /workspace/log'];
    expect((await make('good', { setup, env: { WHO: 'template' } })).status).toBe(201);
    const { status, body } = await spawn('good', { env: { WHO: 'me' }, metadata: { a: 'b' } });
    expect([status, body.template, body.metadata]).toEqual([201, 'good', { a: 'b' }]);
    expect((await client.sh(body.id, 'cat /workspace/log; echo $WHO')).stdout).toBe('one\nme\nme\n');
    const logs = await client.call<string[]>('GET', `/sandboxes/${body.id}/logs`);
    expect(logs.body.join('\n')).toMatch(/hello$/m);
    await client.destroy(body.id);
  });

  it('says which command failed and how, and leaves nothing', async () => {
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

  it('ends setup that does not end when the sandbox is destroyed', async () => {
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
});
