// Programs for E2B that know a domain alone, as docs/e2b.md says: the newest SDKs of npm and PyPI, unmodified, by names of a name
// server, through Caddy and nginx as deploy/ has them, and by the listener with a certificate of the operator's.
import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Certificates, certificates } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith, itWith, type Need } from '../support/requires.ts';
import { chosenDatabase } from '../support/servers/chosen-database.ts';
import { type NameServer, startNameServer } from '../support/servers/name-server.ts';
import { startProxy } from '../support/servers/proxy.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const DOMAIN = 'preview.example.com';
const KEY = 'e2b-domain-key-0123456789abcdef0123456789abcdef';
const LATER = { timeout: 60_000 };
const LISTENS =
  'mkdir -p /tmp/shown && echo shown > /tmp/shown/page && cd /tmp/shown && exec python3 -m http.server 8000';

const JAVASCRIPT = `
  import { Sandbox } from ${JSON.stringify(join(packageRoot, 'node_modules/e2b/dist/index.mjs'))};
  const sandbox = await Sandbox.create();
  await sandbox.files.write('a.txt', 'written');
  const said = [];
  said.push((await sandbox.commands.run('cat a.txt')).stdout, await sandbox.files.read('a.txt'));
  said.push(await (await fetch(await sandbox.downloadUrl('a.txt'))).text());
  said.push(sandbox.getHost(8000) === '8000-' + sandbox.sandboxId + '.' + process.env.E2B_DOMAIN);
  await sandbox.commands.run(${JSON.stringify(LISTENS)}, { background: true, timeoutMs: 0 });
  let page;
  for (let left = 200; left > 0 && page?.status !== 200; left--) {
    page = await fetch('https://' + sandbox.getHost(8000) + '/page');
    await page.clone().text();
  }
  said.push((await page.text()).trim());
  const again = await Sandbox.connect(sandbox.sandboxId);
  const names = [];
  const watch = await again.files.watchDir('.', ({ name }) => void names.push(name));
  await again.files.write('b.txt', 'x');
  await watch.stop();
  said.push((await again.getInfo()).state, await again.kill(), await again.isRunning());
  console.log(JSON.stringify(said));`;
const PYTHON = `
import asyncio, os, sys, urllib.request
from e2b import AsyncSandbox, Sandbox
sandbox = Sandbox.create()
sandbox.files.write("a.txt", "written")
print(sandbox.commands.run("cat a.txt").stdout, sandbox.files.read("a.txt"), sandbox.is_running())
print(sandbox.get_host(80) == f"80-{sandbox.sandbox_id}.{os.environ['E2B_DOMAIN']}")
print(urllib.request.urlopen(sandbox.download_url("a.txt")).read().decode())
sandbox.kill()
async def main():
    sandbox = await AsyncSandbox.create()
    print((await sandbox.commands.run("echo async")).stdout.strip())
    await sandbox.kill()
asyncio.run(main())
sys.stdout.flush()
os._exit(0)
`;

/** How names lead to the server: resolves with the port of TLS. */
interface Way {
  needs: readonly Need[];
  env(folder: string, made: Certificates): Promise<Record<string, string>>;
  open(
    folder: string,
    made: Certificates,
    server: TestServer,
  ): Promise<{ port: number; stop(): Promise<void> }>;
}

const behind = (kind: 'caddy' | 'nginx'): Way => ({
  needs: [kind],
  env: async () => ({ SVC_SERVER_TRUSTED_PROXIES: '127.0.0.1' }),
  open: (folder, made, server) =>
    startProxy(kind, {
      folder: join(folder, kind),
      pair: made.server,
      upstreamPort: Number(new URL(server.url).port),
    }),
});

const byListener = (): Way => {
  let port = 0;
  return {
    needs: [],
    env: async (_folder, { server }) => {
      port = await freePort();
      return {
        SVC_E2B_LISTEN: `127.0.0.1:${port}`,
        SVC_E2B_CERT_FILE: server.cert,
        SVC_E2B_KEY_FILE: server.key,
      };
    },
    open: async () => ({ port, stop: async () => undefined }),
  };
};

const ways: Record<string, Way> = {
  'behind caddy': behind('caddy'),
  'behind nginx': behind('nginx'),
  'by its own listener': byListener(),
};

for (const [name, way] of Object.entries(ways))
  describeWith(
    ['root', 'unshare', 'python3', 'openssl', ...way.needs],
    `programs for E2B with a domain, ${name}`,
    () => {
      let folder: string;
      let server: TestServer;
      let names: NameServer;
      let stop: (() => Promise<void>) | undefined;
      let env: Record<string, string>;

      beforeAll(async () => {
        folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
        chmodSync(folder, 0o711);
        const made = certificates(folder, [`DNS:${DOMAIN}`, `DNS:*.${DOMAIN}`]);
        names = await startNameServer(DOMAIN, join(folder, 'resolv.conf'));
        server = await startServer({
          // The servers of a fleet share this machine, and cannot share a port.
          database: chosenDatabase() && 'postgres',
          env: {
            SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
            SVC_AUTH_ENABLED: 'true',
            SVC_AUTH_API_KEY: KEY,
            SVC_SERVER_PREVIEW_DOMAIN: DOMAIN,
            ...(await way.env(folder, made)),
          },
        });
        const opened = await way.open(folder, made, server);
        stop = opened.stop;
        env = {
          PATH: process.env.PATH ?? '',
          E2B_DOMAIN: `${DOMAIN}:${opened.port}`,
          E2B_API_KEY: KEY,
          NODE_EXTRA_CA_CERTS: made.ca,
          SSL_CERT_FILE: made.ca,
        };
      }, 60_000);
      afterAll(async () => {
        await stop?.();
        await server?.stop();
        if (server) removeHome(server.home);
        await names?.stop();
        removeFolder(folder);
      });
      const said = async (...command: string[]) => {
        const [program = '', ...args] = [...names.prefix, ...command];
        return (await run(program, args, { env })).stdout;
      };

      it('serves the SDK for JavaScript', LATER, async () => {
        const stdout = await said(process.execPath, '--input-type=module', '-e', JAVASCRIPT);
        expect(JSON.parse(stdout)).toEqual([
          ...['written', 'written', 'written', true, 'shown', 'running', true, false],
        ]);
      });

      itWith(['e2b-python'], 'serves the SDKs for Python', async () => {
        const stdout = await said(join(packageRoot, '.cache/e2b-python/bin/python'), '-c', PYTHON);
        expect(stdout).toBe('written written True\nTrue\nwritten\nasync\n');
      });
    },
  );
