// MCP as hosts use it: the official clients in TypeScript and Python and the inspector, the old protocol and the new one, over
// stdio and HTTP, against a real server with keys.
import { execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AuditRecord } from '../../src/schema/audit.ts';
import type { KeyWithSecret } from '../../src/schema/key.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { cli, packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';
const PYTHON = join(packageRoot, '.cache/python-client/bin/python');
const JAVASCRIPT = join(packageRoot, '.cache/javascript/node_modules');
const PROTOCOLS = { legacy: '2025-11-25', auto: '2026-07-28' } as const;
type Mode = keyof typeof PROTOCOLS;

interface Result {
  content: { type: string; text: string; mimeType?: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

describeWith(['bwrap'], 'MCP', () => {
  let server: TestServer;
  const open: Client[] = [];

  beforeAll(async () => {
    const auth = { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY, SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY };
    server = await startServer({ env: { ...auth, SVC_MCP_ENABLED: 'true', SVC_AUDIT_EXECS: 'true' } });
  });
  afterAll(async () => {
    await Promise.all(open.map((client) => client.close()));
    await server?.stop();
    if (server) removeHome(server.home);
  });

  const ask = async <T>(method: string, path: string, body?: unknown) =>
    (await api(server.url).call<T>(method, path, body, { 'x-api-key': ADMIN_KEY })).body;
  const keyFor = async (name: string, facts: object = {}) =>
    (await ask<KeyWithSecret>('POST', '/admin/keys', { name, ...facts })).secret;
  const args = (...more: string[]) => [cli, 'mcp', '--server', server.url, ...more];
  const environment = (key: string) => ({ ...process.env, SVC_API_KEY: key }) as Record<string, string>;

  interface Terms {
    mode?: Mode;
    key?: string;
    path?: string;
    flags?: string[];
  }

  async function connected(transport: Parameters<Client['connect']>[0], mode: Mode): Promise<Client> {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(transport);
    open.push(client);
    return client;
  }
  const overHttp = ({ mode = 'auto', key = API_KEY, path = '/mcp' }: Terms = {}) => {
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    return connected(new StreamableHTTPClientTransport(new URL(server.url + path), { requestInit }), mode);
  };
  const overStdio = ({ mode = 'auto', key = API_KEY, flags = [] }: Terms = {}) =>
    connected(
      new StdioClientTransport({ command: process.execPath, args: args(...flags), env: environment(key) }),
      mode,
    );
  const call = async (client: Client, name: string, given: object = {}) =>
    (await client.callTool({ name, arguments: { ...given } })) as Result;
  const textOf = ({ content }: Result) => content[0]?.text ?? '';
  /** Ended sandboxes are not found. */
  const stateOf = async (id: string): Promise<string> =>
    (await ask<Partial<Sandbox>>('GET', `/sandboxes/${id}`)).state ?? 'ended';

  it.each([
    ['stdio', 'legacy'],
    ['stdio', 'auto'],
    ['HTTP', 'legacy'],
    ['HTTP', 'auto'],
  ] as const)('serves the TypeScript client over %s, protocol %s', async (kind, mode) => {
    const client = await (kind === 'HTTP' ? overHttp({ mode }) : overStdio({ mode }));
    expect(client.getNegotiatedProtocolVersion()).toBe(PROTOCOLS[mode]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('run_command');
    const created = await call(client, 'create_sandbox', { ttl: '5m', name: 'tried' });
    const sandbox_id = created.structuredContent?.id as string;
    expect(textOf(created)).toContain(kind === 'HTTP' ? 'ends at expires_at' : 'ends with this session');
    const written = { sandbox_id, path: '/workspace/a.txt', content: 'one two\n' };
    expect((await call(client, 'write_file', written)).structuredContent).toMatchObject({ size: 8 });
    await call(client, 'edit_file', { sandbox_id, path: '/workspace/a.txt', old: 'two', new: '$& three' });
    const ran = await call(client, 'run_command', { sandbox_id, command: 'cat a.txt; exit 3' });
    expect(ran.structuredContent).toMatchObject({ exit_code: 3, stdout: 'one $& three\n', sandbox_id });
    expect(textOf(await call(client, 'read_file', { sandbox_id, path: '/workspace/a.txt' }))).toBe(
      'one $& three\n',
    );
    // A file that ends within a character is not text: an edit would lose the end.
    await call(client, 'run_command', { sandbox_id, command: "printf 'two\\303' > cut" });
    const cut = await call(client, 'edit_file', { sandbox_id, path: '/workspace/cut', old: 'two', new: '2' });
    expect([cut.isError, textOf(cut)]).toEqual([true, expect.stringContaining('not UTF-8 text')]);
    const listed = await call(client, 'list_files', { sandbox_id, glob: '/workspace/*.txt' });
    expect(listed.structuredContent?.files).toEqual(['/workspace/a.txt']);
    const started = await call(client, 'start_command', { sandbox_id, command: 'echo begun; sleep 600' });
    const { exec_id } = started.structuredContent as { exec_id: string };
    await until('the output', async () =>
      textOf(await call(client, 'read_output', { sandbox_id, exec_id })).includes('begun'),
    );
    await call(client, 'stop_command', { sandbox_id, exec_id, signal: 'SIGKILL' });
    await until(
      'the end of the command',
      async () =>
        (await call(client, 'read_output', { sandbox_id, exec_id })).structuredContent?.state === 'exited',
    );
    expect(textOf(await call(client, 'list_sandboxes'))).toContain(sandbox_id);
    const failed = await call(client, 'read_file', { sandbox_id, path: '/absent' });
    expect([failed.isError, textOf(failed)]).toEqual([true, expect.stringMatching(/^not_found: /)]);
    const wrong = await call(client, 'run_command', { sandbox_id, comand: 'true' });
    expect([wrong.isError, textOf(wrong)]).toEqual([true, expect.stringContaining("property 'command'")]);
    await call(client, 'destroy_sandbox', { sandbox_id });
    expect(await stateOf(sandbox_id)).toBe('ended');
  });

  itWith(['python-client'], 'serves the Python client', async () => {
    for (const mode of ['legacy', 'auto'] as const) {
      const program = [
        join(import.meta.dirname, 'mcp_client.py'),
        mode,
        server.url,
        API_KEY,
        process.execPath,
        cli,
      ];
      const { stdout } = await run(PYTHON, program);
      const expected = {
        protocol: PROTOCOLS[mode],
        tools: 14,
        stdout: 'from 42\n',
        exit_code: 3,
        failure: [true, expect.stringMatching(/^not_found: /)],
      };
      expect(JSON.parse(stdout)).toEqual({ http: expected, stdio: expected });
    }
  });

  itWith(['javascript'], 'serves the inspector, which finds no fault in the schemas', async () => {
    const node = join(JAVASCRIPT, 'node22/bin/node');
    const inspector = join(JAVASCRIPT, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    const inspect = async (target: string[], ...method: string[]) => {
      const { stdout } = await run(node, [inspector, '--cli', ...target, ...method], {
        env: { ...environment(API_KEY), HOME: server.home },
      });
      return JSON.parse(stdout);
    };
    const http = [`${server.url}/mcp`, '--transport', 'http', '--header', `X-API-Key: ${API_KEY}`];
    const { tools } = await inspect(http, '--method', 'tools/list', '--strict');
    expect(tools).toHaveLength(14);
    const stdio = [
      '-e',
      `SVC_API_KEY=${API_KEY}`,
      '-e',
      `SVC_SERVER=${server.url}`,
      process.execPath,
      cli,
      'mcp',
    ];
    const tool = [
      '--method',
      'tools/call',
      '--tool-name',
      'run_command',
      '--tool-arg',
      'command=echo inspected',
    ];
    expect(textOf(await inspect(stdio, ...tool))).toContain('inspected');
  });

  it('ends the sandboxes of a session over stdio with it, unless it is to keep them', async () => {
    const idOf = async (client: Client) => {
      const both = [call(client, 'run_command', { command: 'true' }), call(client, 'list_files')];
      const ids = (await Promise.all(both)).map(({ structuredContent }) => structuredContent?.sandbox_id);
      expect(ids[0]).toBe(ids[1]);
      return ids[0] as string;
    };
    const session = await overStdio();
    const first = await idOf(session);
    await call(session, 'destroy_sandbox', { sandbox_id: first });
    const second = await idOf(session);
    expect(second).not.toBe(first);
    const keeping = await overStdio({ flags: ['--keep'] });
    const kept = await idOf(keeping);
    await Promise.all([session.close(), keeping.close()]);
    await until('the end of the sandbox', async () => (await stateOf(second)) === 'ended');
    expect(await stateOf(kept)).toBe('running');
    await ask('DELETE', `/sandboxes/${kept}`);
  });

  it('writes nothing but messages to standard output, and ends on SIGTERM with its sandboxes', async () => {
    const child = spawn(process.execPath, args(), { env: environment(API_KEY) });
    const messages: { id?: number; jsonrpc: string; result?: Result }[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => messages.push(JSON.parse(line)));
    const send = (message: object) =>
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'raw', version: '1' };
    const hello = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo };
    send({ id: 1, method: 'initialize', params: hello });
    send({ method: 'notifications/initialized' });
    child.stdin.write('not json\n');
    send({
      id: 2,
      method: 'tools/call',
      params: { name: 'run_command', arguments: { command: 'echo raw' } },
    });
    await until('the answer', () => messages.some(({ id }) => id === 2));
    expect(messages.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    const { sandbox_id } = messages.find(({ id }) => id === 2)?.result?.structuredContent ?? {};
    const ended = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(await stateOf(sandbox_id as string)).toBe('ended');
  });

  it.each(['stdio', 'HTTP'] as const)(
    'kills the command of a call that is cancelled over %s',
    async (kind) => {
      const client = await (kind === 'HTTP' ? overHttp() : overStdio());
      const { structuredContent } = await call(client, 'create_sandbox');
      const sandbox_id = structuredContent?.id as string;
      const cancel = new AbortController();
      const command = 'echo $$ > pid; exec sleep 600';
      const call_ = client.callTool(
        { name: 'run_command', arguments: { sandbox_id, command, timeout: '10m' } },
        { signal: cancel.signal },
      );
      const alive = async () => {
        const check = { sandbox_id, command: 'kill -0 $(cat pid) 2>/dev/null && echo alive' };
        return (await call(client, 'run_command', check)).structuredContent?.stdout === 'alive\n';
      };
      await until('the command', alive);
      cancel.abort();
      await expect(call_).rejects.toThrow();
      await until('the end of the command', async () => !(await alive()));
      await call(client, 'destroy_sandbox', { sandbox_id });
    },
  );

  it('bounds and marks long output, and shows images as such', async () => {
    const client = await overStdio();
    const long = await call(client, 'run_command', { command: 'seq 1 200000; echo the end' });
    expect(textOf(long).length).toBeLessThan(20_000);
    expect(textOf(long)).toMatch(
      /^.*\nstdout:\n1\n2\n[\s\S]*characters are not shown[\s\S]*199999\n200000\nthe end/,
    );
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    await call(client, 'run_command', { command: `echo ${pixel} | base64 -d > p.png; seq 1 30000 > n.txt` });
    const image = await call(client, 'read_file', { path: '/workspace/p.png' });
    expect(image.content).toEqual([{ type: 'image', data: pixel, mimeType: 'image/png' }]);
    const part = textOf(await call(client, 'read_file', { path: '/workspace/n.txt' }));
    const next = Number(/Read on with offset (\d+)/.exec(part)?.[1]);
    const rest = textOf(
      await call(client, 'read_file', { path: '/workspace/n.txt', offset: next, limit: 10 }),
    );
    expect(part + rest).toContain(`\n`);
    expect(next).toBe(48 * 1024);
    await call(client, 'run_command', { command: 'head -c 100 /dev/zero > z' });
    expect(textOf(await call(client, 'read_file', { path: '/workspace/z' }))).toContain('not UTF-8 text');
  });

  it('acts with the rights of the key, for its owner, under the name of the key in the audit', async () => {
    const anne = await overHttp({ key: await keyFor('anne', { owner_id: 'anne', scopes: ['use'] }) });
    const bob = await overHttp({ key: await keyFor('bob', { owner_id: 'bob', scopes: ['use'] }) });
    const reader = await overHttp({ key: await keyFor('reader', { owner_id: 'anne', scopes: ['read'] }) });
    const created = await call(anne, 'create_sandbox');
    const sandbox_id = created.structuredContent?.id as string;
    expect(await ask('GET', `/sandboxes/${sandbox_id}`)).toMatchObject({
      owner_id: 'anne',
      metadata: { mcp: 'http' },
    });
    expect(textOf(await call(reader, 'list_sandboxes'))).toContain(sandbox_id);
    expect(textOf(await call(bob, 'list_sandboxes', { all: true }))).not.toContain(sandbox_id);
    for (const [client, tool, given, failure] of [
      [bob, 'run_command', { sandbox_id, command: 'id' }, 'not_found'],
      [bob, 'read_file', { sandbox_id, path: '/etc/passwd' }, 'not_found'],
      [bob, 'extend_sandbox', { sandbox_id, ttl: '1h' }, 'not_found'],
      [reader, 'create_sandbox', {}, 'forbidden'],
      [reader, 'run_command', { sandbox_id, command: 'id' }, 'forbidden'],
      [reader, 'destroy_sandbox', { sandbox_id }, 'forbidden'],
    ] as const) {
      const result = await call(client, tool, given);
      expect([tool, result.isError, textOf(result)]).toEqual([
        tool,
        true,
        expect.stringMatching(new RegExp(`^${failure}: `)),
      ]);
    }
    expect(textOf(await call(bob, 'destroy_sandbox', { sandbox_id }))).toContain('"was_there": false');
    expect(await stateOf(sandbox_id)).toBe('running');
    await call(anne, 'run_command', { sandbox_id, command: 'true' });
    await call(anne, 'destroy_sandbox', { sandbox_id });
    const mine = async () =>
      (await ask<AuditRecord[]>('GET', '/admin/audit?limit=1000')).filter(
        ({ actor }) => actor === 'key:anne',
      );
    await until('the records', async () => (await mine()).length >= 3);
    expect((await mine()).map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      `DELETE /api/v1/sandboxes/${sandbox_id}`,
      'POST /api/v1/sandboxes',
      `POST /api/v1/sandboxes/${sandbox_id}/exec`,
    ]);
    expect((await mine()).every(({ remote_addr }) => remote_addr === '127.0.0.1')).toBe(true);
  });

  it('opens the profile for operators to administrators only, and shows no secret', async () => {
    const operator = await overHttp({ key: ADMIN_KEY, path: '/mcp/operate' });
    const { tools } = await operator.listTools();
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    const { id } = await ask<Sandbox>('POST', '/sandboxes', { env: { TOKEN: 'hunter2-hunter2' } });
    const given: Record<string, object[]> = {
      ...{ get_sandbox: [{ sandbox_id: id }], sandbox_console: [{ sandbox_id: id }] },
      ...{ diagnostics: [{ logs: true }], explain_error: [{ code: 'resource_limit' }] },
      ...{ read_document: [{ page: 'keys' }, { page: 'SVC101' }], metrics: [{}, { groups: ['scheduler'] }] },
      list_runtime_parts: ['providers', 'workers', 'pool', 'snapshots', 'images'].map((kind) => ({ kind })),
    };
    for (const { name } of tools)
      for (const one of given[name] ?? [{}]) {
        const result = await call(operator, name, one);
        expect([name, result.isError ?? false, textOf(result).length > 1]).toEqual([name, false, true]);
        expect(JSON.stringify(result)).not.toMatch(/api-key-01|admin-key-01|hunter2/);
        expect(textOf(result).length).toBeLessThanOrEqual(64 * 1024);
      }
    for (const page of ['../package', '..', 'docs/keys', ''])
      expect((await call(operator, 'read_document', { page })).isError).toBe(true);
    await ask('DELETE', `/sandboxes/${id}`);
    const refused = await fetch(`${server.url}/mcp/operate`, {
      ...{ method: 'POST', body: '{}' },
      headers: { 'content-type': 'application/json', 'x-api-key': API_KEY },
    });
    expect(refused.status).toBe(403);
    const overPipe = await overStdio({ flags: ['--profile', 'operate'], key: API_KEY });
    expect(textOf(await call(overPipe, 'metrics'))).toMatch(/^forbidden: /);
  });

  it('checks its own machine and configuration over stdio only, and shows documents as resources', async () => {
    const local = await overStdio({ flags: ['--profile', 'operate'], key: ADMIN_KEY });
    const remote = await overHttp({ key: ADMIN_KEY, path: '/mcp/operate' });
    const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);
    const remoteNames = await namesOf(remote);
    expect((await namesOf(local)).filter((name) => !remoteNames.includes(name))).toEqual([
      'doctor',
      'lint_config',
    ]);
    const file = join(server.home, 'mcp.yaml');
    const key = 'short-key-of-the-file';
    writeFileSync(file, `auth:\n  enabled: true\n  api_key: ${key}\nserver: { prot: 1 }\n`);
    const lint = await call(local, 'lint_config', { file, production: true });
    expect(lint.structuredContent).toMatchObject({ findings: expect.any(Array) });
    expect(textOf(lint)).toContain('prot');
    expect(textOf(lint)).not.toContain(key);
    const doctor = await call(local, 'doctor', {
      only: ['database'],
      config: join(server.home, 'absent.yaml'),
    });
    expect([doctor.isError ?? false, textOf(doctor)]).toEqual([
      false,
      expect.stringContaining('absent.yaml'),
    ]);
    expect((await call(local, 'doctor', { only: ['nothing'] })).isError).toBe(true);
    for (const client of [local, remote]) {
      const { resources } = await client.listResources();
      const uris = resources.map(({ uri }) => uri);
      expect(uris).toEqual(expect.arrayContaining(['svc://docs/keys', 'svc://lint/SVC101']));
      const { contents } = await client.readResource({ uri: 'svc://lint/SVC101' });
      expect(contents).toMatchObject([
        { mimeType: 'text/markdown', text: expect.stringContaining('SVC101') },
      ]);
      for (const uri of ['svc://docs/..%2Fpackage', 'svc://docs/absent', 'svc://other/keys'])
        await expect(client.readResource({ uri })).rejects.toThrow();
    }
  });

  it('runs code that keeps its names, shows its error, and says what python needs', async () => {
    const client = await overStdio();
    const bash = (code: string) => call(client, 'run_code', { language: 'bash', code });
    await bash('kept=here');
    const second = await bash('echo "$kept"; echo bad >&2');
    expect(second.structuredContent).toMatchObject({ state: 'done', stdout: 'here\n', stderr: 'bad\n' });
    const script = await call(client, 'run_code', { language: 'javascript', code: 'const a = 20; a + 1' });
    expect(script.structuredContent).toMatchObject({ results: ['21'] });
    const thrown = await call(client, 'run_code', { language: 'javascript', code: 'nowhere()' });
    expect(thrown.structuredContent).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('nowhere'),
    });
    expect((await bash('seq 1 100000')).structuredContent?.stdout).toContain('characters are not shown');
  });

  it('ends the call of a key that is revoked', async () => {
    const client = await overHttp({ key: await keyFor('leaving') });
    const { structuredContent } = await call(client, 'create_sandbox');
    const sandbox_id = structuredContent?.id as string;
    const ended = call(client, 'run_command', {
      sandbox_id,
      command: 'echo on > on; sleep 60',
      timeout: '2m',
    });
    await until(
      'the command',
      async () => (await ask<unknown[]>('GET', `/sandboxes/${sandbox_id}/execs`)).length > 0,
    );
    await ask('DELETE', '/admin/keys/leaving');
    expect(textOf(await ended)).toMatch(/^unauthorized: .*key revoked/);
    await ask('DELETE', `/sandboxes/${sandbox_id}`);
  });
});
