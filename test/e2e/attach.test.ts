// Terminals that live on without their client and their server, and ports on which programs of a sandbox listen: a real server and
// real sandboxes. Over PostgreSQL the sandboxes run on a worker.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { describeWith, itOnOneServer } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

type Socket = Awaited<ReturnType<Client['openExec']>>;
const SIZE = { cols: 100, rows: 30 };

/** Reads until the text has come, and returns what came. */
async function read(socket: Socket, wanted: string): Promise<string> {
  let seen = '';
  for await (const event of socket.events()) {
    if (event.type === 'stdout') seen += event.data.toString();
    if (seen.includes(wanted)) return seen;
  }
  throw new Error(`ended without ${wanted}: ${seen}`);
}

describeWith(['bwrap'], 'what goes on in a sandbox without its client', () => {
  let home: string;
  let server: TestServer;
  let client: Client;
  let id: string;
  const start = async () => {
    server = await startServer({ home, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'bwrap' } });
    client = new Client({ server: server.url });
  };
  beforeAll(async () => {
    home = makeHome();
    await start();
    ({ id } = await client.spawn({ ttl: '1h' }));
  }, 120_000);
  afterAll(async () => {
    await client.destroy(id);
    await client.close();
    await server.stop();
    removeHome(home);
  });
  const kept = async () =>
    (await client.execs.list(id)).filter(({ attachable }) => attachable).map(({ exec_id }) => exec_id);
  const shell = async () => {
    const socket = await client.openExec(id, { command: 'sh', tty: true, keep: true, ...SIZE });
    const { value } = await socket.events().next();
    if (value?.type !== 'started') throw new Error('not started');
    return { socket, exec_id: value.exec_id };
  };

  it('keeps a terminal, lists it, and opens it again with its input', async () => {
    const { socket, exec_id } = await shell();
    await socket.write('mine=42\n');
    socket.close();
    await until('it is listed', async () => (await kept()).includes(exec_id));
    const again = await client.attachExec(id, { exec_id, cols: 80, rows: 24 });
    await again.write('echo "still $mine"; stty size\n');
    expect(await read(again, '24 80')).toContain('still 42');
    await again.write('exit 3\n');
    const ends: number[] = [];
    for await (const event of again.events()) if (event.type === 'exit') ends.push(event.exit_code);
    expect(ends).toEqual([3]);
    await until('it has left the list', async () => !(await kept()).includes(exec_id));
    const item = await client.execs.get(id, exec_id);
    expect(item).toMatchObject({ state: 'exited', exit_code: 3 });
    await expect(async () => {
      const gone = await client.attachExec(id, { exec_id: 'ex-none' });
      for await (const _ of gone.events());
    }).rejects.toMatchObject({ code: 'not_found' });
  });

  itOnOneServer('the test kills one server', 'keeps it through a kill of the server', async () => {
    const { socket, exec_id } = await shell();
    await socket.write('mine=43; echo ready-$mine\n');
    await read(socket, 'ready-43');
    await server.kill();
    socket.close();
    await client.close();
    await start();
    const again = await client.attachExec(id, { exec_id, ...SIZE });
    await again.write('echo "still $mine"\n');
    await read(again, 'still 43');
    await client.execs.signal(id, exec_id, 'SIGHUP');
    await until('it has ended', async () => !(await kept()).includes(exec_id));
  });

  it('ends a terminal that is not kept with its connection, as before', async () => {
    const socket = await client.openExec(id, { command: 'sleep 1000', tty: true });
    const { value } = await socket.events().next();
    socket.close();
    const exec_id = value?.type === 'started' ? value.exec_id : '';
    await until('it has ended', async () => (await client.execs.get(id, exec_id)).state === 'exited', 30_000);
    expect(await kept()).toEqual([]);
  });

  it('tells on which ports programs listen', async () => {
    expect(await client.ports(id)).toEqual([]);
    const listen = (host: string, port: number) =>
      client.execs.detach(id, { command: `exec python3 -m http.server ${port} --bind ${host}` });
    const execs = [await listen('127.0.0.1', 8123), await listen('0.0.0.0', 8124)];
    await until('both listen', async () => (await client.ports(id)).length === 2, 30_000);
    expect(await client.ports(id)).toEqual([
      { port: 8123, addresses: ['127.0.0.1'] },
      { port: 8124, addresses: ['0.0.0.0'] },
    ]);
    const { stdout } = await runCli(['sandbox', 'ports', id, '--server', server.url], server.env);
    expect(stdout).toMatch(/8123 +127\.0\.0\.1\n *8124 +0\.0\.0\.0\n/);
    for (const exec of execs) await client.execs.signal(id, exec, 'SIGKILL');
  });

  it('hands a file and a folder to a browser by links that are good once', async () => {
    const name = "ü 'x' \n.txt";
    await client.files.write(id, `/workspace/out/${name}`, 'content');
    const open = (url: string) => fetch(`${server.url}/api/v1/${url}`);
    const { url } = await client.files.link(id, `/workspace/out/${name}`);
    const answer = await open(url);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('content');
    expect(answer.headers.get('content-disposition')).toBe(
      'attachment; filename="download"; filename*=UTF-8\'\'%C3%BC%20%27x%27%20%0A.txt',
    );
    expect(answer.headers.get('content-security-policy')).toContain('sandbox');
    expect((await open(url)).status).toBe(401);
    const folder = await client.files.link(id, '/workspace/out');
    const elsewhere = folder.url.replace(encodeURIComponent('/workspace/out'), encodeURIComponent('/etc'));
    expect(elsewhere).not.toBe(folder.url);
    expect((await open(elsewhere)).status).toBe(401);
    const tar = await open(folder.url);
    expect([tar.status, tar.headers.get('content-type')]).toEqual([200, 'application/x-tar']);
    expect(Buffer.from(await tar.arrayBuffer()).includes('content')).toBe(true);
    await expect(client.files.link(id, '/workspace/none')).rejects.toMatchObject({ code: 'not_found' });
    const once = await client.files.link(id, '/workspace/out');
    const all = await Promise.all(Array.from({ length: 8 }, () => open(once.url)));
    expect(all.filter(({ status }) => status === 200)).toHaveLength(1);
    await Promise.all(all.map((one) => one.arrayBuffer()));
  });

  it('lists a large folder page by page', async () => {
    await client.exec(id, { command: 'mkdir -p many/x && cd many && touch $(seq 1 2500) x/in' });
    const all = await client.files.list(id, '/workspace/many', 2);
    expect(all).toHaveLength(2502);
    const walked: string[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const query = { depth: 2, limit: 1000, ...(cursor !== undefined && { cursor }) };
      const page = await client.files.page(id, '/workspace/many', query);
      walked.push(...page.entries.map(({ path }) => path));
      cursor = page.next_cursor;
    }
    expect(walked).toEqual(all.map(({ path }) => path));
  });
});
