// `@svc-sandbox/client` on the runtimes that its package is for: one program on Node 20, 22 and 24, Deno and Bun, and what a page may do
// in Chromium.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { startBrowser } from '../support/servers/browser.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const run = promisify(execFile);
const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const TOOLS = join(packageRoot, '.cache/javascript/node_modules');
const CLIENT = join(packageRoot, 'clients/typescript');
const RUNTIMES: [name: string, program: () => [string, ...string[]]][] = [
  ['Node 20 or what runs the tests', () => [process.execPath]],
  ['Node 22', () => [join(TOOLS, 'node22/bin/node')]],
  ['Node 24', () => [join(TOOLS, 'node24/bin/node')]],
  ['Deno', () => [join(TOOLS, '.bin/deno'), 'run', '-A', '--node-modules-dir=manual']],
  ['Bun', () => [join(TOOLS, '.bin/bun'), 'run']],
];

/** What works everywhere, given a client. */
const COMMON = `
  const sandbox = await client.create({ ttl: '2m' });
  const seen = {};
  try {
    seen.code = (await sandbox.exec('exit 3')).exit_code;
    seen.lines = [];
    for await (const line of sandbox.stream('echo one')) seen.lines.push(line.stream + line.data);
    await sandbox.files.write('/workspace/a', 'text');
    await sandbox.files.write('/workspace/b', new Uint8Array(200_000));
    seen.text = (await sandbox.files.read('/workspace/a')).toString();
    seen.size = (await sandbox.files.read('/workspace/b')).length;
    seen.failure = await sandbox.files.read('/absent').catch((error) => [error instanceof ServiceError, error.code]);
    const signal = AbortSignal.timeout(300);
    seen.aborted = await sandbox.exec('sleep 60', {}, { signal }).catch((error) => error.name);
    seen.listed = (await client.listAll({}, 100, { timeoutMs: 30_000 })).some(({ id }) => id === sandbox.id);
`;
const SEEN = {
  ...{ code: 3, lines: ['start', 'stdoutone\n', 'exit'], text: 'text', size: 200_000, listed: true },
  ...{ failure: [true, 'not_found'], aborted: 'TimeoutError' },
};
const SERVERSIDE = `
    const socket = await sandbox.open('cat');
    await socket.write('typed\\n');
    socket.end();
    seen.typed = '';
    for await (const event of socket.events()) if (event.type === 'stdout') seen.typed += event.data.toString();
    await sandbox.execs.detach({ command: 'python3 -m http.server 8000' });
    await sandbox.waitForPort(8000);
    seen.port = (await sandbox.fetch(8000)).status;
`;
const END = `
  } finally {
    seen.destroyed = (await sandbox.destroy()).was_there;
    await client.close();
  }
`;

describeWith(['bwrap'], 'the TypeScript client', () => {
  let server: TestServer;
  let project: string;
  let pages: Server;
  let origin: string;

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'svc-test-'));
    const scope = join(project, 'node_modules/@svc-sandbox');
    mkdirSync(scope, { recursive: true });
    cpSync(CLIENT, join(scope, 'client'), { recursive: true });
    for (const name of ['undici', 'ws'])
      symlinkSync(join(packageRoot, 'node_modules', name), join(project, 'node_modules', name));
    writeFileSync(join(project, 'package.json'), '{"type":"module"}');
    pages = createServer((request, response) => {
      const isScript = request.url === '/client.js';
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? readFileSync(join(CLIENT, 'dist/browser/index.js')) : '<title>page</title>');
    });
    await new Promise<void>((resolve) => void pages.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    const auth = { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY };
    server = await startServer({ env: { ...auth, SVC_SERVER_CORS_ALLOWED_ORIGINS: origin } });
  });
  afterAll(async () => {
    pages?.close();
    await server?.stop();
    if (server) removeHome(server.home);
    removeFolder(project);
  });

  const made = () => `const client = new Client({ server: '${server.url}', apiKey: '${API_KEY}' });`;

  for (const [name, program] of RUNTIMES)
    itWith(name.startsWith('Node 20') ? [] : ['javascript'], `runs on ${name}`, async () => {
      const file = join(project, 'program.mjs');
      const head = `import { Client, ServiceError } from '@svc-sandbox/client';\n${made()}`;
      writeFileSync(file, `${head}${COMMON}${SERVERSIDE}${END}console.log(JSON.stringify(seen));`);
      const [executable, ...args] = program();
      const { stdout } = await run(executable, [...args, file], { cwd: project, timeout: 60_000 });
      const all = { ...SEEN, typed: 'typed\n', port: 200, destroyed: true };
      expect(JSON.parse(stdout)).toEqual(all);
    });

  itWith(['chromium'], 'runs in Chromium, and says what a page cannot do', async () => {
    const browser = await startBrowser();
    try {
      const page = await browser.open(origin, { width: 400, height: 300 });
      const program = `(async () => {
        const { Client, ServiceError } = await import('/client.js');
        ${made()}${COMMON}
        seen.open = await sandbox.open('cat').catch((error) => error.code);
        ${END}
        return JSON.stringify(seen);
      })()`;
      const seen = JSON.parse(await page.evaluate<string>(program));
      expect(seen).toEqual({ ...SEEN, open: 'not_implemented', destroyed: true });
    } finally {
      await browser.close();
    }
  });
});
