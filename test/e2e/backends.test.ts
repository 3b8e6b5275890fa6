// Sandboxes of a custom and of a hosted backend through the real server: the same calls as for any other, found again by the
// server that starts next, and said to be gone when their backend is.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { ExecEvent } from '../../src/client/socket.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { HOSTED_KEY, type HostedBackend, hostedBackend } from '../support/scripted/hosted-backend.ts';
import { BACKEND_KEY, type CustomBackend, customBackend } from '../support/servers/custom-backend.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

/** What a process loaded, from the coverage that it writes at its end. */
const coverage = (home: string) => join(home, 'loaded');

function loaded(home: string): string[] {
  const folder = coverage(home);
  const all = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  return all.flatMap(({ result }: { result: { url: string }[] }) => result.map(({ url }) => url));
}

const watched = (home: string) => ({ NODE_V8_COVERAGE: coverage(home) });
const isLibrary = (url: string) => url.includes('/node_modules/e2b/');

describeWith(['bwrap', 'root'], 'a server over backends', () => {
  let custom: CustomBackend;
  let hosted: HostedBackend;
  let server: TestServer;
  let client: Client;
  const open = async (home = makeHome()) => {
    server = await startServer({ home, env: { ...backends(), ...watched(home) } });
    client = new Client({ server: server.url });
  };
  const backends = () => ({
    SVC_PROVIDERS_CUSTOM_ENABLED: 'true',
    SVC_PROVIDERS_CUSTOM_BASE_URL: custom.url,
    SVC_PROVIDERS_CUSTOM_API_KEY: BACKEND_KEY,
    SVC_PROVIDERS_HOSTED_ENABLED: 'true',
    SVC_PROVIDERS_HOSTED_BASE_URL: hosted.url,
    SVC_PROVIDERS_HOSTED_SANDBOX_URL: hosted.url,
    SVC_PROVIDERS_HOSTED_API_KEY: HOSTED_KEY,
  });
  beforeAll(async () => {
    [custom, hosted] = await Promise.all([customBackend({ isJailed: true }), hostedBackend()]);
    await open();
  });
  afterAll(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
    for (const { folder } of custom.sandboxes.values()) removeFolder(folder);
    await Promise.all([custom.close(), hosted.close()]);
  });

  const KINDS = ['custom', 'hosted'] as const;
  const made = { custom: '', hosted: '' };
  let detached = '';

  it.each(KINDS)('%s: spawns, runs commands and keeps files', async (provider) => {
    const { id } = await client.spawn({ provider });
    made[provider] = id;
    const run = await client.exec(id, { command: 'pwd; echo err >&2; exit 3' });
    expect(run).toMatchObject({ stdout: '/workspace\n', stderr: 'err\n', exit_code: 3 });
    await client.files.write(id, '/workspace/a', Buffer.from('kept'));
  });

  it('hosted: runs terminals and detached commands', async () => {
    const terminal = await client.openExec(made.hosted, { command: 'read word; exit 4', tty: true });
    const events: ExecEvent[] = [];
    for await (const event of terminal.events()) {
      events.push(event);
      if (event.type === 'started') await terminal.write('\r');
    }
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit_code: 4 });
    const command = 'while [ ! -e go ]; do sleep 0.1; done; exit 5';
    detached = await client.execs.detach(made.hosted, { command });
  });

  it.each(KINDS)('%s: passes piped input on, and ends with a command that does not read it', async (kind) => {
    const env = { SVC_SERVER: server.url };
    const exec = ['sandbox', 'exec', made[kind]];
    expect(await runCli([...exec, '--', 'cat'], env, 'word')).toEqual({
      code: 0,
      stdout: 'word',
      stderr: '',
    });
    const idle = (words: readonly string[]) => {
      const child = spawn(process.execPath, [cli, 'sandbox', 'exec', made[kind], ...words], {
        env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', ...env },
        stdio: ['pipe', 'inherit', 'pipe'],
      });
      const code = once(child, 'close').then(([status]) => status as number);
      return { child, code, stderr: child.stderr.toArray() };
    };
    expect(await idle(['--no-stdin', '--', 'cat']).code).toBe(0);
    const open = idle(['--', 'sh', '-c', 'exit 4']);
    // This backend takes the input together with the command.
    if (kind === 'custom') {
      await once(open.child.stderr, 'readable');
      open.child.stdin.end();
    }
    expect(await open.code).toBe(4);
    const words = Buffer.concat(await open.stderr).toString();
    expect(words).toMatch(kind === 'custom' ? /starts the command when standard input ends/ : /^$/);
  });

  it.each(KINDS)('%s: refuses archives, and copies folders file by file', async (kind) => {
    const id = made[kind];
    const refused = { code: 'not_implemented', message: expect.stringContaining(`Sandboxes of ${kind} `) };
    await expect(client.files.openArchive(id, '/workspace')).rejects.toMatchObject(refused);
    const tar = Buffer.alloc(4 * 1024 * 1024);
    await expect(client.files.writeArchive(id, '/workspace', tar)).rejects.toMatchObject(refused);
    const here = temporaryFolder();
    mkdirSync(join(here, 'from/d'), { recursive: true });
    writeFileSync(join(here, 'from/d/a'), 'one');
    writeFileSync(join(here, 'from/b'), Buffer.alloc(3_000_000, 7));
    const cp = (from: string, to: string) => runCli(['sandbox', 'cp', from, to], { SVC_SERVER: server.url });
    expect(await cp(join(here, 'from'), `${id}:copy`)).toMatchObject({ code: 0 });
    expect(await cp(`${id}:copy`, join(here, 'to'))).toMatchObject({ code: 0 });
    expect(readFileSync(join(here, 'to/d/a'), 'utf8')).toBe('one');
    expect(readFileSync(join(here, 'to/b')).equals(Buffer.alloc(3_000_000, 7))).toBe(true);
    await client.files.remove(id, '/workspace/copy', { recursive: true });
  });

  it('custom: answers not_implemented to a detached command', async () => {
    const call = client.execs.detach(made.custom, { command: 'true' });
    await expect(call).rejects.toMatchObject({ code: 'not_implemented' });
  });

  it('finds its sandboxes again after a restart', async () => {
    await client.close();
    await server.stop();
    await open(server.home);
    for (const provider of KINDS) {
      expect(await client.get(made[provider])).toMatchObject({ state: 'running', provider });
      expect((await client.files.read(made[provider], '/workspace/a')).toString()).toBe('kept');
    }
    const { hosted: id } = made;
    const known = (await client.execs.list(id)).find(({ exec_id }) => exec_id === detached);
    expect(known).toMatchObject({ state: 'running' });
    await client.files.write(id, '/workspace/go', Buffer.from(''));
    const lines = [];
    for await (const line of client.execs.output(id, detached, { follow: true })) lines.push(line);
    expect(lines.at(-1)).toMatchObject({ stream: 'exit', exit_code: 5 });
  });

  it('gives no sandbox the runtime of another, whatever the backend says', async () => {
    const { hosted: id } = made;
    const [sandboxID] = hosted.sandboxes.keys();
    hosted.instead = (req, res) => {
      if (`${req.method} ${req.url}` !== 'POST /v2/sandboxes') return false;
      res.writeHead(201, { 'content-type': 'application/json' });
      res.end(JSON.stringify({ sandboxID, templateID: 'base', clientID: 'c', envdVersion: '0.6.5' }));
      return true;
    };
    await expect(client.spawn({ provider: 'hosted' })).rejects.toMatchObject({ code: 'provider_error' });
    hosted.instead = undefined;
    expect([...hosted.sandboxes.keys()]).toEqual([sandboxID]);
    expect(await client.exec(id, { command: 'cat a' })).toMatchObject({ stdout: 'kept' });
  });

  it('ends its sandboxes at their backends', async () => {
    for (const provider of KINDS) await client.destroy(made[provider]);
    expect([...custom.sandboxes.keys(), ...hosted.sandboxes.keys()]).toEqual([]);
  });

  it('lists its backends, and explains when they are unreachable', async () => {
    expect(await client.system.providers()).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'custom', healthy: true }),
        expect.objectContaining({ kind: 'hosted', healthy: true }),
      ]),
    );
    await Promise.all([custom.close(), hosted.close()]);
    const { custom: one, hosted: other } = await client.admin.testProviders();
    expect(one).toMatchObject({ healthy: false, error: expect.stringMatching(/cannot be reached/) });
    expect(other).toMatchObject({ healthy: false, error: expect.stringMatching(/cannot be reached/) });
  });

  it('loads the library of hosted backends', async () => {
    await server.stop();
    expect(loaded(server.home).some(isLibrary)).toBe(true);
  });
});

describe('a server without backends', () => {
  it('never loads the library of hosted backends', async () => {
    const home = makeHome();
    mkdirSync(coverage(home));
    try {
      const server = await startServer({ home, env: watched(home) });
      const look = () =>
        fetch(`${server.url}/api/v1/providers`).then(
          ({ ok }) => ok,
          () => false,
        );
      await until('it answers', look);
      await server.stop();
      const urls = loaded(home);
      expect(urls.some((url) => url.includes('/dist/'))).toBe(true);
      expect(urls.filter(isLibrary)).toEqual([]);
    } finally {
      removeHome(home);
    }
  });
});
