// `svc events` against a real server: what is stored, what comes, and a server that goes away and comes back.
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Event } from '../../src/schema/event.ts';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

describeWith(['unshare'], 'svc events', () => {
  const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({ env });
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  const stored = async (...args: string[]): Promise<Event[]> => {
    const run = await runCli(['events', '--no-follow', '--json', ...args], { SVC_SERVER: server.url });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    return run.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Event);
  };

  it('shows the events of a sandbox, in order', async () => {
    const { id } = await api(server.url).spawn();
    await api(server.url).sh(id, 'exit 3');
    await api(server.url).destroy(id);
    const all = await until('all is stored', async () => {
      const events = await stored('--sandbox', id);
      return events.length === 5 ? events : undefined;
    });
    expect(all.map(({ type }) => type)).toEqual([
      'sandbox.created',
      'sandbox.running',
      'exec.started',
      'exec.completed',
      'sandbox.destroyed',
    ]);
    expect(all[3]!.data).toMatchObject({ exit_code: 3 });
    expect(await stored('--sandbox', id, '--type', 'exec.*', '--since', String(all[2]!.id))).toEqual([
      all[3],
    ]);
    const run = await runCli(['events', '--no-follow'], { SVC_SERVER: server.url });
    expect(run.stdout).toMatch(new RegExp(`^TIME +TYPE .*\\n(?:.*\\n)*\\S+ +sandbox\\.destroyed +${id} `));
    const failed = await runCli(['events', '--type', 'nothing', '--json'], { SVC_SERVER: server.url });
    expect([failed.code, JSON.parse(failed.stdout)]).toMatchObject([2, { error: { code: 'bad_request' } }]);
  });

  it('follows over a restart of the server without a gap or a duplicate', async () => {
    const port = new URL(server.url).port;
    const child = spawn(process.execPath, [cli, 'events', '--json', '--type', 'sandbox.created'], {
      env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const seen = () =>
      text
        .split('\n')
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as Event).sandbox_id);
    const made: string[] = [];
    // Whether it listens yet shows by an event only.
    await until('it follows', async () => {
      made.push((await api(server.url).spawn({ ttl: '5m' })).id);
      return seen().length > 0;
    });
    await server.kill();
    server = await startServer({ env: { ...env, SVC_SERVER_PORT: port }, home: server.home });
    for (let n = 0; n < 2; n += 1) made.push((await api(server.url).spawn({ ttl: '5m' })).id);
    await until('it has them', () => seen().at(-1) === made.at(-1));
    expect(seen()).toEqual(made.slice(-seen().length));
    child.kill('SIGINT');
    await until('it ended', () => child.exitCode !== null || child.signalCode !== null);
  });
});
