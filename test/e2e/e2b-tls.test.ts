// `e2b.listen` and `svc e2b env --tls`: the newest SDKs of E2B, unmodified, by names below localhost with an authority of ours and
// no name server; and what the listener serves and what not.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { chosenDatabase } from '../support/servers/chosen-database.ts';
import { cli, packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const KEY = 'e2b-tls-key-0123456789abcdef0123456789abcdef';
const LATER = { timeout: 30_000 };

describeWith(['bwrap'], 'the listener for E2B with TLS', () => {
  let server: TestServer;
  let port: number;
  let given: Record<string, string>;
  let sandbox: Sandbox;
  const options = () => ({ apiKey: KEY, apiUrl: server.url, sandboxUrl: server.url });

  beforeAll(async () => {
    port = await freePort();
    const env = { SVC_E2B_LISTEN: `127.0.0.1:${port}`, SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: KEY };
    // The servers of a fleet share this machine, and cannot share a port.
    const database = chosenDatabase() && 'postgres';
    server = await startServer({ env, database });
    const svc = { ...server.env, SVC_API_KEY: KEY };
    const { stdout } = await run(process.execPath, [cli, 'e2b', 'env', '--tls', '--json'], { env: svc });
    const { variables } = JSON.parse(stdout) as { variables: Record<string, string> };
    const plain = (word: string) => word.replace(/^['"]|['"]$/g, '').replace('$SVC_API_KEY', KEY);
    const words = Object.entries(variables).map(([name, word]) => [name, plain(word)]);
    given = { PATH: process.env.PATH ?? '', ...Object.fromEntries(words) };
    sandbox = await Sandbox.create(options());
  });
  afterAll(async () => {
    await Sandbox.kill(sandbox.sandboxId, options());
    await server.stop();
    removeHome(server.home);
  });

  /** Without a name server: the name goes into the handshake and the request. */
  const ask = (name: string, path = '/', headers: Record<string, string> = {}) =>
    new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }>(
      (resolve, reject) => {
        const { NODE_EXTRA_CA_CERTS: file = '' } = given;
        const host = `${name}:${port}`;
        const sent = request(
          {
            host: '127.0.0.1',
            port,
            path,
            servername: name,
            ca: readFileSync(file),
            headers: { host, ...headers },
          },
          async (answer) => {
            const pieces = await answer.toArray();
            resolve({
              ...{ status: answer.statusCode ?? 0, headers: answer.headers },
              body: Buffer.concat(pieces as Buffer[]).toString(),
            });
          },
        );
        sent.on('error', reject).end();
      },
    );
  const hostOf = (made: Sandbox, at: number) => made.getHost(at).replace(/:\d+$/, '');

  it('names the ports of sandboxes by its own port', () => {
    expect(given).toMatchObject({ E2B_DOMAIN: `e2b.localhost:${port}`, E2B_API_KEY: KEY });
    expect(sandbox.getHost(3000)).toBe(`3000-${sandbox.sandboxId}.e2b.localhost:${port}`);
  });

  const program = `
    import { Sandbox } from ${JSON.stringify(join(packageRoot, 'node_modules/e2b/dist/index.mjs'))};
    const sandbox = await Sandbox.create();
    await sandbox.files.write('a.txt', 'written');
    const link = await fetch(await sandbox.downloadUrl('a.txt'));
    const { stdout } = await sandbox.commands.run('cat a.txt');
    console.log(JSON.stringify([stdout, await link.text(), sandbox.getHost(80).endsWith(process.env.E2B_DOMAIN)]));
    await sandbox.kill();`;
  it('serves the JavaScript SDK', async () => {
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { env: given });
    expect(JSON.parse(stdout)).toEqual(['written', 'written', true]);
  });

  itWith(['e2b-python'], 'serves the Python SDKs by names alone', async () => {
    const { E2B_API_URL: _, E2B_SANDBOX_URL: __, ...names } = given;
    const lines = [
      'import asyncio',
      'from e2b import AsyncSandbox, Sandbox',
      'sandbox = Sandbox.create()',
      'sandbox.files.write("a.txt", "written")',
      'print(sandbox.commands.run("cat a.txt").stdout, sandbox.files.read("a.txt"), sandbox.is_running())',
      'sandbox.kill()',
      'async def main():',
      '    sandbox = await AsyncSandbox.create()',
      '    print((await sandbox.commands.run("echo async")).stdout.strip())',
      '    await sandbox.kill()',
      'asyncio.run(main())',
      // The interpreter sometimes aborts while it ends, in a library of the SDK.
      'import os, sys',
      'sys.stdout.flush()',
      'os._exit(0)',
    ];
    const python = join(packageRoot, '.cache/e2b-python/bin/python');
    const { stdout } = await run(python, ['-c', lines.join('\n')], { env: names });
    expect(stdout).toBe('written written True\nasync\n');
  });

  it('serves nothing else: no API of ours, no console, no files of the domain', async () => {
    for (const name of ['localhost', 'api.e2b.localhost', 'e2b.localhost'])
      for (const path of ['/', '/console', '/api/v1/sandboxes', '/openapi.json', '/mcp'])
        expect([path, (await ask(name, path, { 'x-api-key': KEY })).status]).toEqual([path, 404]);
    expect((await ask('api.e2b.localhost', '/sandboxes', { 'x-api-key': KEY })).status).toBe(200);
    expect((await ask('api.e2b.localhost', '/sandboxes')).status).toBe(401);
    // The names of sandboxes serve no control API, and a port serves neither.
    const own = await ask(hostOf(sandbox, 49_983), '/sandboxes', { 'x-api-key': KEY });
    expect(own.status).toBe(404);
  });

  const listen = async (made: Sandbox, at: number) => {
    await made.commands.run(`cd /usr/share/doc && exec python3 -m http.server ${at}`, {
      background: true,
      timeoutMs: 0,
    });
    await expect.poll(async () => (await ask(hostOf(made, at), '/', token(made))).status, LATER).toBe(200);
  };
  const token = ({ trafficAccessToken = '' }: Sandbox) => ({
    'e2b-traffic-access-token': trafficAccessToken,
  });

  itWith(['python3'], "shows ports, and says in E2B's words why one cannot be reached", async () => {
    await listen(sandbox, 8000);
    expect((await ask(hostOf(sandbox, 8000))).status).toBe(200);
    const closed = await ask(hostOf(sandbox, 3000));
    const message = 'The sandbox is running but port is not open';
    expect([closed.status, JSON.parse(closed.body)]).toEqual([
      502,
      { sandboxId: sandbox.sandboxId, message, port: 3000, code: 502 },
    ]);
    const page = await ask(hostOf(sandbox, 3000), '/', { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' });
    expect(page.body).toContain('<title>Closed Port Error</title>');
    const gone = await ask('3000-sb-aaaaaaaaaaaa.e2b.localhost');
    expect([gone.status, JSON.parse(gone.body)]).toEqual([
      502,
      { sandboxId: 'sb-aaaaaaaaaaaa', message: 'The sandbox was not found', code: 502 },
    ]);
  });

  itWith(['python3'], 'keeps the ports of a sandbox to holders of its traffic token', async () => {
    const own = await Sandbox.create({ ...options(), network: { allowPublicTraffic: false } });
    await listen(own, 8000);
    const stranger = await ask(hostOf(own, 8000));
    expect([stranger.status, JSON.parse(stranger.body)]).toMatchObject([
      403,
      { code: 403, sandboxId: own.sandboxId },
    ]);
    expect((await ask(hostOf(own, 8000), '/', token(sandbox))).status).toBe(403);
    // The same by the other listener.
    const name = { host: hostOf(own, 8000) };
    const elsewhere = await new Promise<number>((resolve, reject) => {
      const { hostname, port: plain } = new URL(server.url);
      get({ hostname, port: plain, headers: name }, ({ statusCode = 0 }) => resolve(statusCode)).on(
        'error',
        reject,
      );
    });
    expect(elsewhere).toBe(403);
    const { network } = await own.getInfo();
    expect(network).toMatchObject({ allowPublicTraffic: false });
    const listed = await Sandbox.list(options()).nextItems();
    expect(listed.map(({ metadata }) => metadata)).toEqual(listed.map(() => ({})));
    await own.kill();
  });

  itWith(['python3'], 'shows programs the Host that they want', async () => {
    const maskRequestHost = ['custom.example.com:$', '{PORT}'].join('');
    const own = await Sandbox.create({ ...options(), network: { maskRequestHost } });
    const code = [
      'import http.server',
      'class H(http.server.BaseHTTPRequestHandler):',
      '    def do_GET(self):',
      '        self.send_response(200); self.end_headers(); self.wfile.write(self.headers["host"].encode())',
      'http.server.HTTPServer(("", 8080), H).serve_forever()',
    ];
    await own.files.write('serve.py', code.join('\n'));
    await own.commands.run('python3 serve.py', { background: true, timeoutMs: 0 });
    await expect.poll(async () => (await ask(hostOf(own, 8080))).body, LATER).toBe('custom.example.com:8080');
    await own.kill();
  });

  itWith(['python3', 'openssl'], 'speaks TLS to ports that want it', async () => {
    const own = await Sandbox.create({ ...options(), network: { httpsPorts: [8443] } as object });
    const code = [
      'import http.server, ssl',
      'class H(http.server.BaseHTTPRequestHandler):',
      '    def do_GET(self):',
      '        self.send_response(200); self.end_headers(); self.wfile.write(b"secured")',
      'server = http.server.HTTPServer(("", 8443), H)',
      'context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)',
      'context.load_cert_chain("/tmp/c.pem", "/tmp/k.pem")',
      'server.socket = context.wrap_socket(server.socket, server_side=True)',
      'server.serve_forever()',
    ];
    await own.files.write('serve.py', code.join('\n'));
    await own.commands.run(
      'openssl req -x509 -newkey rsa:2048 -keyout /tmp/k.pem -out /tmp/c.pem -days 1 -nodes -subj /CN=localhost',
    );
    await own.commands.run('python3 serve.py', { background: true, timeoutMs: 0 });
    await expect.poll(async () => (await ask(hostOf(own, 8443))).body, LATER).toBe('secured');
    await own.kill();
  });

  it('keeps its authority when the server starts again', async () => {
    const before = readFileSync(given.NODE_EXTRA_CA_CERTS ?? '', 'utf8');
    await server.stop();
    server = await startServer({ env: server.env, home: server.home });
    expect(readFileSync(given.NODE_EXTRA_CA_CERTS ?? '', 'utf8')).toBe(before);
    expect((await ask('api.e2b.localhost', '/sandboxes', { 'x-api-key': KEY })).status).toBe(200);
  });
});
