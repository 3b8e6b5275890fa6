// What the command line says when something is wrong: the fact, and what to do next.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { type CliRun, runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

describe('without a server', () => {
  it.each<[string, string[], Record<string, string>, string]>([
    [
      'the variable',
      ['sandbox', 'list'],
      { SVC_SERVER: 'http://127.0.0.1:9' },
      'http://127.0.0.1:9 (from SVC_SERVER)',
    ],
    [
      'the flag',
      ['sandbox', 'list', '--server', 'http://127.0.0.1:9'],
      { SVC_SERVER: 'http://127.0.0.1:8' },
      'http://127.0.0.1:9 (from --server)',
    ],
    [
      'an unknown host name',
      ['sandbox', 'list'],
      { SVC_SERVER: 'http://no-such-host.invalid' },
      'http://no-such-host.invalid (from SVC_SERVER)',
    ],
    [
      'a shell',
      ['sandbox', 'exec', 'sb-1', '-i', 'true'],
      { SVC_SERVER: 'http://127.0.0.1:9' },
      'http://127.0.0.1:9 (',
    ],
  ])('names the address and its source: %s', async (_, args, env, words) => {
    const run = await runCli(args, env);
    expect(run.stderr).toContain(words);
    expect(run.code).not.toBe(0);
  });

  it('refuses an argument that is out of range as wrong usage', async () => {
    const run = await runCli(['sandbox', 'preview', 'sb-1', '99999']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toMatch(
      /^Error: Expected an integer less than or equal to 65535 .*\nTry: See --help\.\n$/,
    );
  });

  it('names the flag that a template without an image lacks', async () => {
    const run = await runCli(['template', 'create', 'web', '--memory', '512']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toBe(
      'Error: The template has no image: --image is missing.\nTry: Set --image, or image in the file.\n',
    );
  });

  it('names the file that cannot be opened, and why', async () => {
    const run = await runCli(['sandbox', 'list', '--api-key-file', '/nonexistent/key']);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('/nonexistent/key');
    expect(run.stderr).toContain('there is no such file');
    const folder = await runCli(['template', 'create', '--file', '/tmp']);
    expect(folder.stderr).toContain('file: /tmp');
    expect(folder.stderr).toContain('there is a folder of this name');
  });
});

describe('with a server that refuses temporarily', () => {
  let server: Server;
  let requests = 0;
  beforeAll(async () => {
    const body = JSON.stringify({ code: 'resource_limit', message: 'Not now.', request_id: 'r' });
    server = createServer((_, response) => {
      requests += 1;
      response.writeHead(requests === 1 ? 429 : 200, {
        'content-type': 'application/json',
        'retry-after': '1',
      });
      response.end(requests === 1 ? body : '[]');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => server.close());

  it.each<[string, string[], Record<string, string>, { code: number; requests: number }]>([
    ['tries again', [], {}, { code: 0, requests: 2 }],
    ['does not try again with --no-retry', ['--no-retry'], {}, { code: 7, requests: 1 }],
    ['does not try again with SVC_RETRY=false', [], { SVC_RETRY: 'false' }, { code: 7, requests: 1 }],
    ['prefers --retry to SVC_RETRY', ['--retry'], { SVC_RETRY: 'false' }, { code: 0, requests: 2 }],
  ])('%s', async (_, flags, env, expected) => {
    requests = 0;
    const { port } = server.address() as AddressInfo;
    const run = await runCli(['sandbox', 'list', ...flags], {
      SVC_SERVER: `http://127.0.0.1:${port}`,
      ...env,
    });
    expect({ code: run.code, requests }, run.stderr).toEqual(expected);
  });
});

describeWith(['unshare'], 'with a server', () => {
  let server: TestServer;
  const svc = (...args: string[]): Promise<CliRun> => runCli(args, { SVC_SERVER: server.url });
  const folder = mkdtempSync(join(tmpdir(), 'svc-errors-'));
  beforeAll(async () => {
    server = await startServer({
      env: {
        SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
        SVC_PROVIDERS_CONTAINER_SOCKET: join(folder, 'no-engine.sock'),
        SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
        SVC_PROVIDERS_DEFAULT: 'userspace',
      },
    });
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
    removeFolder(folder);
  });

  it('shows an operator the paths that providers report', async () => {
    const list = await svc('provider', 'list');
    expect(list.stdout).not.toContain('(path)');
    expect(list.stdout).toContain(join(folder, 'no-engine.sock'));
    expect((await svc('provider', 'get', 'container')).stdout).not.toContain('(path)');
  });

  it('separates destroyed sandboxes from missing ones', async () => {
    const id = (await svc('sandbox', 'create', '--json')).stdout.match(/"id": "(.*)"/)?.[1] ?? '';
    const run = await svc('sandbox', 'destroy', id, 'nope');
    expect(run).toEqual({ code: 0, stdout: `${id} destroyed\nnope: was not there\n`, stderr: '' });
    const again = await svc('sandbox', 'destroy', id, '--json');
    expect(JSON.parse(again.stdout)).toEqual({ destroyed: [], not_there: [id] });
  });

  it('runs a command without dashes, and relative paths begin in the working folder', async () => {
    expect(await svc('sandbox', 'run', 'echo', 'hi')).toEqual({ code: 0, stdout: 'hi\n', stderr: '' });
    const id = (await svc('sandbox', 'create', '--json')).stdout.match(/"id": "(.*)"/)?.[1] ?? '';
    await svc('sandbox', 'mkdir', id, 'sub');
    expect((await svc('sandbox', 'exec', id, '-w', 'sub', 'pwd')).stdout).toBe('/workspace/sub\n');
    const unclear = await svc('sandbox', 'exec', id, 'ls', '-la');
    expect(unclear.code).toBe(125);
    expect(unclear.stderr).toContain(`svc sandbox exec ${id} -- ls -la`);
    await svc('sandbox', 'destroy', id);
  });

  it('reports differences from the request in every output, and refuses them with --strict', async () => {
    const words = 'Image alpine is not on this machine';
    const made = await svc('sandbox', 'create', '--image', 'alpine');
    expect(made.stderr).toContain(words);
    const id = /sb-\w+/.exec(made.stdout)?.[0] ?? '';
    expect((await svc('sandbox', 'get', id)).stdout).toContain(words);
    expect(JSON.parse((await svc('sandbox', 'get', id, '--json')).stdout).warnings[0]).toContain(words);
    await svc('sandbox', 'destroy', id);
    const run = await svc('sandbox', 'run', '--image', 'alpine', 'true');
    expect(run).toMatchObject({ code: 0, stderr: expect.stringContaining(words) });
    const doc = await svc('sandbox', 'run', '--image', 'alpine', '--json', '--', 'true');
    expect(JSON.parse(doc.stdout)).toMatchObject({
      exit_code: 0,
      warnings: [expect.stringContaining(words)],
    });
    const strict = await svc('sandbox', 'create', '--image', 'alpine', '--strict');
    expect(strict).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining(words) });
    expect((await svc('sandbox', 'run', '--image', 'alpine', '--strict', 'true')).code).toBe(125);
    expect(await svc('sandbox', 'run', '--strict', 'true')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('names the local file of a copy', async () => {
    const file = join(folder, 'missing.txt');
    const run = await svc('sandbox', 'cp', file, 'sb-1:/x');
    expect(run.stderr).toContain(file);
    writeFileSync(join(folder, 'plain'), '');
    const write = await svc('sandbox', 'write', 'sb-1', 'x', join(folder, 'plain', 'x'));
    expect(write.stderr).toContain(join(folder, 'plain', 'x'));
  });
});
