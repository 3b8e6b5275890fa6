// The command line against a real server: what a person types, what they see, and the exit codes scripts rely on.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith, itOnOwnHost } from '../support/requires.ts';
import { chosenDatabase } from '../support/servers/chosen-database.ts';
import { type CliRun, runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

describeWith(['unshare'], 'svc', () => {
  let server: TestServer;
  const svc = (...args: string[]): Promise<CliRun> => runCli(args, { SVC_SERVER: server.url });
  const json = async <T>(...args: string[]): Promise<T> => {
    const dashes = args.includes('--') ? args.indexOf('--') : args.length;
    const run = await svc(...args.slice(0, dashes), '--json', ...args.slice(dashes));
    expect(run).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(run.stdout) as T;
  };

  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('answers --version without loading anything', async () => {
    const run = await runCli(['--version']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(run.stdout).toMatch(/^svc\/\d+\.\d+\.\d+ linux-/);
  });

  it('creates, lists, gets, extends and destroys', async () => {
    const made = await json<Sandbox>(
      'sandbox',
      'create',
      '--ttl',
      '5m',
      '--metadata',
      'purpose=cli',
      '--env',
      'GREETING=hi',
    );
    const worker_id = chosenDatabase() === undefined ? 'local' : 'beside';
    expect(made).toMatchObject({ state: 'running', metadata: { purpose: 'cli' }, worker_id });
    expect(await json<Sandbox[]>('sandbox', 'list', '--metadata', 'purpose=cli')).toHaveLength(1);
    expect(await json<Sandbox[]>('sandbox', 'list', '--metadata', 'purpose=other')).toEqual([]);
    expect((await svc('sandbox', 'list')).stdout).toMatch(new RegExp(`^ID +STATE .*\\n${made.id} +running`));
    expect((await svc('sandbox', 'exec', made.id, '--shell', '--', 'echo $GREETING')).stdout).toBe('hi\n');
    const longer = await json<Sandbox>('sandbox', 'extend', made.id, '--ttl', '1h');
    expect(Date.parse(longer.expires_at)).toBeGreaterThan(Date.parse(made.expires_at));
    expect((await svc('sandbox', 'destroy', made.id)).stdout).toBe(`${made.id} destroyed\n`);
    expect((await svc('sandbox', 'destroy', made.id)).code).toBe(0);
    expect(await json<Sandbox>('sandbox', 'get', made.id).catch(() => 'gone')).toBe('gone');
    expect(await json('sandbox', 'prune')).toEqual({ pruned: 0 });
  });

  it('sets the quota of an owner, and asks for admission', async () => {
    const set = await json('quota', 'set', 'ann', '--max-sandboxes', '1', '--max-ttl', '90m');
    expect(set).toMatchObject({ owner_id: 'ann', max_sandboxes: 1, max_ttl: '1h30m' });
    expect((await svc('quota', 'list')).stdout).toMatch(/^OWNER +SANDBOXES .*\nann +1 +1h30m +default/);
    expect((await svc('quota', 'get', 'ann')).stdout).toContain('max ttl:');
    expect(await svc('sandbox', 'admission', '--user', 'ann')).toMatchObject({ code: 0 });
    const { id } = await json<Sandbox>('sandbox', 'create', '--user', 'ann');
    const denied = await svc('sandbox', 'admission', '--user', 'ann', '--json');
    expect(denied).toMatchObject({ code: 7, stderr: '' });
    expect(JSON.parse(denied.stdout)).toMatchObject({ allowed: false, reason: 'max_sandboxes_per_owner' });
    expect((await svc('sandbox', 'create', '--user', 'ann')).code).toBe(7);
    expect((await svc('quota', 'usage', 'ann')).stdout).toMatch(/active sandboxes: +1/);
    expect(await json('quota', 'summary')).toMatchObject({ total: 1, with_max_ttl: 1 });
    expect((await svc('quota', 'delete', 'ann')).code).toBe(0);
    expect((await svc('quota', 'get', 'ann')).code).toBe(4);
    await svc('sandbox', 'destroy', id);
  });

  it('repeats a create under its idempotency key', async () => {
    const first = await json<Sandbox>('sandbox', 'create', '--idempotency-key', 'k1');
    const second = await json<Sandbox>('sandbox', 'create', '--idempotency-key', 'k1');
    expect(second.id).toBe(first.id);
    expect((await svc('sandbox', 'create', '--idempotency-key', 'k1', '--ttl', '1m')).code).toBe(5);
    await svc('sandbox', 'destroy', first.id);
  });

  describe('exec and run', () => {
    let id: string;
    beforeAll(async () => {
      id = (await json<Sandbox>('sandbox', 'create')).id;
    });
    afterAll(async () => void (await svc('sandbox', 'destroy', id)));

    it('starts a detached command, and lists, reads and ends it', async () => {
      const started = await svc('sandbox', 'exec', id, '-d', '--', 'sh', '-c', 'echo up; exec sleep 60');
      expect(started).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ex-\w+\n$/) });
      const exec = started.stdout.trim();
      expect((await svc('exec', 'list', id)).stdout).toMatch(
        new RegExp(`^ID .*\\n${exec}.* running .* yes `),
      );
      expect(await svc('exec', 'output', id, exec)).toMatchObject({ code: 0, stdout: 'up\n' });
      const running = JSON.parse((await svc('exec', 'output', id, exec, '--json')).stdout);
      expect([running.state, running.exit_code]).toEqual(['running', undefined]);
      expect((await svc('exec', 'signal', id, exec, 'KILL')).code).toBe(0);
      expect(await svc('exec', 'output', id, exec, '--follow')).toMatchObject({ code: 137, stdout: 'up\n' });
      expect((await svc('sandbox', 'logs', id)).stdout).toMatch(/ up\n/);
      expect((await svc('sandbox', 'logs', id, '--json', '-n', '1')).stdout).toMatch(/^\[\n {2}".*"\n\]\n$/);
      expect((await svc('exec', 'signal', id, 'ex-none')).code).toBe(4);
    });

    it.each([
      ['its own status', ['sh', '-c', 'exit 7'], 7],
      ['128+n for a signal', ['sh', '-c', 'kill -9 $$'], 137],
      ['127 for no such program', ['no-such-program'], 127],
    ])('ends with %s', async (_, words, code) => {
      expect((await svc('sandbox', 'exec', id, '--', ...words)).code).toBe(code);
    });

    it('separates the outputs and passes arguments unchanged', async () => {
      const run = await svc(
        'sandbox',
        'exec',
        id,
        '--',
        'sh',
        '-c',
        'printf "[%s]" "$@"; echo oops >&2',
        'sh',
        'a b',
        '--flag',
        '*',
      );
      expect(run).toEqual({ code: 0, stdout: '[a b][--flag][*]', stderr: 'oops\n' });
    });

    it('passes standard input with -i', async () => {
      const run = await runCli(
        ['sandbox', 'exec', id, '-i', '--', 'tr', 'a-z', 'A-Z'],
        { SVC_SERVER: server.url },
        'shout\n',
      );
      expect(run).toMatchObject({ code: 0, stdout: 'SHOUT\n' });
    });

    it('ends with 124 at the deadline and 125 for a failure of svc', async () => {
      const late = await svc('sandbox', 'exec', id, '--timeout', '1s', '--', 'sleep', '60');
      expect(late).toMatchObject({ code: 124, stderr: `exec timeout: ${id}\n` });
      expect((await svc('sandbox', 'exec', 'sb-000000000000', '--', 'true')).code).toBe(125);
      expect((await svc('sandbox', 'exec', id)).code).toBe(125);
    });

    it('prints one document with --json', async () => {
      const outcome = await json('sandbox', 'exec', id, '--shell', '--', 'echo out; echo err >&2; exit 0');
      expect(outcome).toMatchObject({ sandbox_id: id, exit_code: 0, stdout: 'out\n', stderr: 'err\n' });
      const late = await svc('sandbox', 'exec', id, '--json', '--timeout', '1s', '--', 'sleep', '60');
      expect([late.code, JSON.parse(late.stdout).error.code]).toEqual([124, 'timeout']);
    });

    it('runs a command once and leaves no sandbox behind', async () => {
      const run = await svc(
        'sandbox',
        'run',
        '--metadata',
        'once=yes',
        '--',
        'sh',
        '-c',
        'echo done; exit 3',
      );
      expect(run).toMatchObject({ code: 3, stdout: 'done\n' });
      expect(await json<Sandbox[]>('sandbox', 'list', '--metadata', 'once=yes')).toEqual([]);
    });
  });

  itOnOwnHost('the worker has the providers', 'shows providers and their isolation', async () => {
    expect((await svc('provider', 'list')).stdout).toMatch(/^NAME .*\nuserspace +yes +healthy/);
    const detail = await json<{ isolation: Record<string, string> }>('provider', 'get', 'userspace');
    expect(Object.keys(detail.isolation).sort()).toEqual([
      'cpu',
      'disk',
      'filesystem',
      'memory',
      'network',
      'process',
      'user',
    ]);
    expect((await svc('provider', 'get', 'nope')).code).toBe(4);
  });

  it('names the next step when no server answers', async () => {
    const run = await runCli(['sandbox', 'list'], { SVC_SERVER: 'http://127.0.0.1:9' });
    expect(run.code).toBe(8);
    expect(run.stderr).toContain('svc serve');
    const asJson = await runCli(['sandbox', 'list', '--json'], { SVC_SERVER: 'http://127.0.0.1:9' });
    expect(JSON.parse(asJson.stdout)).toMatchObject({ error: { code: 'unavailable' } });
  });

  it('ends with 2 on wrong usage and points to the help', async () => {
    expect((await svc('sandbox', 'get')).code).toBe(2);
    expect((await svc('sandbox', 'list', '--nope')).code).toBe(2);
    expect((await svc('sandbox', 'create', '--metadata', 'nokey')).code).toBe(2);
    expect((await svc('sandbox', 'create', '--ttl', 'soon')).code).toBe(2);
  });

  it('gives every command help with examples', async () => {
    const manifest = JSON.parse(readFileSync(new URL('../../oclif.manifest.json', import.meta.url), 'utf8'));
    for (const [id, command] of Object.entries<{ examples?: string[]; summary?: string }>(
      manifest.commands,
    )) {
      expect([id, command.summary?.length ?? 0]).toEqual([id, expect.any(Number)]);
      expect([id, (command.examples ?? []).length > 0]).toEqual([id, true]);
    }
    expect((await svc('sandbox', 'create', '--help')).stdout).toContain('EXAMPLES');
  });
});

describe('svc config', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-config-'));
  afterAll(() => removeFolder(folder));
  const file = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };

  it('writes a file that equals the defaults', async () => {
    const output = join(folder, 'svc.yaml');
    expect((await runCli(['config', 'init', '--output', output])).code).toBe(0);
    expect((await runCli(['config', 'init', '--output', output])).code).toBe(5);
    const shown = async (args: string[]) =>
      JSON.parse((await runCli(['config', 'show', ...args, '--json'])).stdout);
    expect((await shown(['--config', output])).config).toEqual((await shown([])).config);
  });

  it('masks secrets and names the source of each value', async () => {
    const path = file(
      'secret.yaml',
      'auth:\n  enabled: true\n  api_key: canary-4f9d2c\nserver:\n  port: 9000\n',
    );
    const run = await runCli(['config', 'show', '--config', path], { SVC_LOGGING_LEVEL: 'debug' });
    expect(run.code).toBe(0);
    expect(run.stdout).not.toContain('canary');
    expect(run.stdout).toMatch(/server\.port +9000 +/);
    expect(run.stdout).toContain('SVC_LOGGING_LEVEL');
  });

  it('refuses an unknown key with its line and the nearest valid key', async () => {
    const run = await runCli(['config', 'show', '--config', file('typo.yaml', 'server:\n  prot: 1\n')]);
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(/typo\.yaml:2:3.*server\.prot.*server\.port/s);
  });

  it('explains a key', async () => {
    const run = await runCli(['config', 'explain', 'defaults.ttl']);
    expect(run.stdout).toContain('SVC_DEFAULTS_TTL');
    expect(JSON.parse((await runCli(['config', 'schema'])).stdout)).toMatchObject({ type: 'object' });
  });
});
