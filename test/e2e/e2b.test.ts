// The newest unmodified SDK of E2B from npm against this server: life cycle, commands, terminals, files and links. One server
// for all cases, and the same over a worker.
import { Sandbox, type SandboxOpts, Template } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eachRuntime, inContainers, onWorkers, type Runtime } from '../support/hosts/matrix.ts';
import { api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

/** For a machine that is busy. */
const LATER = { timeout: 30_000 };
const decoded = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const encoded = (text: string) => new TextEncoder().encode(text);
const failure = async (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    ({ name, message, exitCode }: Error & { exitCode?: number }) => ({ name, message, exitCode }),
  );

const programs = ({ env, ordinaryUser, onWorker, runner }: Runtime) => {
  const isHostView = runner === 'bwrap' || runner === 'unshare';
  let server: TestServer;
  let sandbox: Sandbox;
  let options: SandboxOpts;

  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser, onWorker });
    options = { apiKey: 'e2b_0', apiUrl: server.url, sandboxUrl: server.url };
    sandbox = await Sandbox.create({ ...options, metadata: { who: 'a b&c' }, envs: { GIVEN: 'yes' } });
  });
  afterAll(async () => {
    await sandbox.kill();
    await server.stop();
    removeHome(server.home);
  });

  it('creates, shows, lists, extends and ends sandboxes', async () => {
    const info = await sandbox.getInfo();
    expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, templateId: 'base', state: 'running' });
    const listed = Sandbox.list({ ...options, query: { metadata: { who: 'a b&c' } }, limit: 1 });
    expect((await listed.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([sandbox.sandboxId]);
    expect(listed.hasNext).toBe(false);
    const other = await Sandbox.create({ ...options, timeoutMs: 30_000, metadata: { who: 'a b&c' } });
    const pages = Sandbox.list({ ...options, query: { metadata: { who: 'a b&c' } }, limit: 1 });
    expect((await pages.nextItems())[0]?.sandboxId).toBe(other.sandboxId);
    expect((await pages.nextItems())[0]?.sandboxId).toBe(sandbox.sandboxId);
    await other.setTimeout(600_000);
    const long = (await other.getInfo()).endAt.getTime();
    await other.setTimeout(60_000);
    const short = (await other.getInfo()).endAt.getTime();
    expect(long - short).toBeGreaterThan(500_000);
    // A shorter wish does not move the end.
    await Sandbox.connect(other.sandboxId, { ...options, timeoutMs: 1000 });
    expect((await other.getInfo()).endAt.getTime()).toBe(short);
    expect([
      await other.isRunning(),
      await other.kill(),
      await other.isRunning(),
      await other.kill(),
    ]).toEqual([true, true, false, false]);
    expect((await failure(Sandbox.connect(other.sandboxId, options)))?.name).toBe('SandboxNotFoundError');
    expect((await failure(Sandbox.getInfo(other.sandboxId, options)))?.name).toBe('SandboxNotFoundError');
  });

  it('refuses what it does not offer, with a reason', async () => {
    expect(await failure(Sandbox.create('no-such', options))).toMatchObject({
      message: "404: template 'no-such' not found",
    });
    expect((await failure(sandbox.pause()))?.message).toContain('501: Pausing a sandbox is not supported');
    expect((await failure(sandbox.createSnapshot()))?.message).toContain('501: ');
    const cut = Sandbox.create({ ...options, network: { allowOut: ['pypi.org'] } });
    expect((await failure(cut))?.message).toContain('400: ');
    const gateway = Sandbox.create({ ...options, mcp: { unknown: {} } as never });
    expect((await failure(gateway))?.message).toContain('Failed to start MCP gateway');
  });

  it('runs commands', async () => {
    const run = (command: string, more = {}) => sandbox.commands.run(command, more);
    const both = await run('echo out; echo err >&2; pwd; echo "$HOME $USER $GIVEN $OWN $E2B_SANDBOX"', {
      envs: { OWN: '1' },
    });
    expect(both).toMatchObject({
      ...{ exitCode: 0, stderr: 'err\n' },
      stdout: 'out\n/home/user\n/home/user user yes 1 true\n',
    });
    expect(await failure(run('exit 3'))).toMatchObject({ name: 'CommandExitError', exitCode: 3 });
    expect((await run('pwd', { cwd: '/tmp' })).stdout).toBe('/tmp\n');
    const nowhere = await failure(run('true', { cwd: '/nowhere' }));
    expect(nowhere?.message).toContain("cwd '/nowhere' does not exist");
    const nobody = await failure(run('true', { user: 'nobody-here' }));
    expect(nobody?.message).toContain("invalid username: 'nobody-here'");
    expect((await failure(run('sleep 60', { timeoutMs: 500 })))?.name).toBe('TimeoutError');
    const large = await run('head -c 3000000 /dev/zero | tr "\\0" x');
    expect(large.stdout.length).toBe(3_000_000);
  });

  it('tells programs where they run', async () => {
    const { stdout } = await sandbox.commands.run(
      'cd /run/e2b; for one in .E2B_SANDBOX .E2B_SANDBOX_ID .E2B_TEMPLATE_ID; do cat $one; echo; done; echo $E2B_SANDBOX_ID',
    );
    expect(stdout).toBe(`true\n${sandbox.sandboxId}\nbase\n${sandbox.sandboxId}\n`);
  });

  it('shows the environment of the sandbox to the holder of its token', async () => {
    const headers = { 'X-Access-Token': (sandbox as unknown as { envdAccessToken: string }).envdAccessToken };
    const answer = await fetch(`${server.url}/envs`, { headers });
    expect(await answer.json()).toMatchObject({ GIVEN: 'yes' });
  });

  it('runs git, and answers for templates and snapshots', async () => {
    // Images of containers may lack it.
    if ((await sandbox.commands.run('command -v git || true')).stdout !== '') {
      await sandbox.git.init('/tmp/repository');
      await sandbox.files.write('/tmp/repository/note', 'text');
      const { fileStatus } = await sandbox.git.status('/tmp/repository');
      expect(fileStatus.map(({ name }) => name)).toEqual(['note']);
    }
    const at = { apiKey: 'e2b_0', apiUrl: server.url };
    expect(await Template.exists('base', at)).toBe(true);
    expect(await Template.exists('no-such', at)).toBe(false);
    expect(await sandbox.listSnapshots().nextItems()).toEqual([]);
  });

  it('keeps processes when their clients leave', async () => {
    const first = await sandbox.commands.run('while read -r line; do echo "got $line"; done', {
      ...{ background: true, stdin: true, timeoutMs: 0 },
    });
    await first.disconnect();
    const listed = await sandbox.commands.list();
    // One that its deadline ended may still be there.
    expect(listed.map(({ pid, cmd }) => [pid, cmd])).toContainEqual([first.pid, '/bin/bash']);
    const other = await Sandbox.connect(sandbox.sandboxId, options);
    const [second, third] = [
      await other.commands.connect(first.pid),
      await sandbox.commands.connect(first.pid),
    ];
    await other.commands.sendStdin(first.pid, 'one\n');
    await sandbox.commands.closeStdin(first.pid);
    expect((await second.wait()).stdout).toBe('got one\n');
    expect((await third.wait()).stdout).toBe('got one\n');
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).not.toContain(first.pid);
    expect(await sandbox.commands.kill(first.pid)).toBe(false);
  });

  it('kills a process, whose number is that inside', async () => {
    const sleeping = await sandbox.commands.run('exec sleep 100', { background: true });
    expect((await sandbox.commands.run(`kill -0 ${sleeping.pid} && echo there`)).stdout).toBe('there\n');
    expect(await sandbox.commands.kill(sleeping.pid)).toBe(true);
    expect((await sandbox.commands.run(`kill -0 ${sleeping.pid} || echo gone`)).stdout).toBe('gone\n');
    expect(await failure(sleeping.wait())).toMatchObject({ name: 'CommandExitError', exitCode: -1 });
  });

  it('opens terminals', async () => {
    let shown = '';
    const onData = (bytes: Uint8Array) => {
      shown += decoded(bytes);
    };
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData, timeoutMs: 0 });
    await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 });
    await sandbox.pty.sendInput(terminal.pid, encoded('stty size; exit 7\n'));
    expect(await failure(terminal.wait())).toMatchObject({ exitCode: 7 });
    expect(shown).toContain('30 100');
    expect(await sandbox.pty.kill(terminal.pid)).toBe(false);
    const left = await sandbox.pty.create({ cols: 80, rows: 24, onData: () => {}, timeoutMs: 0 });
    await left.disconnect();
    const seen: string[] = [];
    const again = await sandbox.pty.connect(left.pid, {
      ...{ timeoutMs: 0, onData: (bytes: Uint8Array) => void seen.push(decoded(bytes)) },
    });
    await sandbox.pty.sendInput(left.pid, encoded('echo back-$((6 * 7)); exit 0\n'));
    await again.wait();
    expect(seen.join('')).toContain('back-42');
  });

  it('writes, reads, moves and removes files', async () => {
    const { files } = sandbox;
    expect(await files.write('a/b c+d.txt', 'hällo')).toMatchObject({ path: '/home/user/a/b c+d.txt' });
    expect(await files.read('a/b c+d.txt')).toBe('hällo');
    expect(await files.read('/home/user/a/b c+d.txt', { format: 'bytes' })).toEqual(encoded('hällo'));
    const written = await files.write([
      { path: 'many/1.txt', data: '1' },
      { path: 'many/2.txt', data: new Blob(['22']) },
    ]);
    expect(written.map(({ name }) => name)).toEqual(['1.txt', '2.txt']);
    await files.write('empty.txt', '');
    expect(await files.read('empty.txt')).toBe('');
    const large = 'x'.repeat(5_000_000);
    await files.write('large.txt', large);
    expect(await files.read('large.txt')).toBe(large);
    const moved = await files.rename('many/1.txt', 'new/folder/one.txt');
    expect(moved).toMatchObject({ path: '/home/user/new/folder/one.txt', size: 1, type: 'file' });
    expect([await files.makeDir('made/deep'), await files.makeDir('made/deep')]).toEqual([true, false]);
    const names = (await files.list('.', { depth: 3 })).map(({ path }) => path);
    expect(names.filter((path) => /^\/home\/user\/(made|new)/.test(path))).toEqual([
      '/home/user/made',
      '/home/user/made/deep',
      '/home/user/new',
      '/home/user/new/folder',
      '/home/user/new/folder/one.txt',
    ]);
    await files.remove('made');
    expect([await files.exists('made'), await files.exists('new')]).toEqual([false, true]);
    expect((await failure(files.read('made')))?.name).toBe('FileNotFoundError');
    expect((await failure(files.read('new')))?.message).toContain('is a directory');
    expect((await failure(files.list('new/folder/one.txt')))?.name).toBe('InvalidArgumentError');
    await sandbox.commands.run('ln -s new/folder/one.txt link; chmod 640 new/folder/one.txt');
    expect(await files.getInfo('link')).toMatchObject({
      ...{ type: 'file', permissions: 'Lrwxrwxrwx', mode: 0o640 },
      symlinkTarget: expect.stringMatching(/\/new\/folder\/one\.txt$/),
    });
  });

  it('names owners, and keeps metadata', async () => {
    const { files } = sandbox;
    const me = (await sandbox.commands.run('id -un')).stdout.trim();
    if (isHostView) expect(me).toBe('user');
    await files.write('marked.txt', 'x', { metadata: { source: 'upload', other: 'a b' } });
    const info = await files.getInfo('marked.txt');
    expect(info).toMatchObject({ owner: me, group: expect.stringMatching(/./), mode: 0o644 });
    expect(info.metadata).toEqual({ source: 'upload', other: 'a b' });
    expect((await files.list('.')).find(({ name }) => name === 'marked.txt')).toMatchObject({
      ...{ owner: me, metadata: { source: 'upload' } },
    });
    // Programs inside see and set it.
    const seen =
      'import os; os.setxattr("marked.txt", "user.e2b.inside", b"1"); print(os.getxattr("marked.txt", "user.e2b.source"))';
    if ((await sandbox.commands.run('command -v python3 || true')).stdout !== '') {
      expect((await sandbox.commands.run(`python3 -c '${seen}'`)).stdout).toContain('upload');
      expect((await files.getInfo('marked.txt')).metadata).toMatchObject({ inside: '1', source: 'upload' });
    }
    if (isHostView) {
      await sandbox.commands.run('setfattr -n user.e2b.outside -v "a b" marked.txt');
      await sandbox.commands.run('setfattr -x user.e2b.inside marked.txt');
      const { metadata } = await files.getInfo('marked.txt');
      expect(metadata).toEqual({ source: 'upload', other: 'a b', outside: 'a b' });
    }
    expect(await files.rename('marked.txt', 'renamed.txt')).toMatchObject({ metadata: { source: 'upload' } });
    await files.write('renamed.txt', 'y');
    expect((await files.getInfo('renamed.txt')).metadata ?? {}).toEqual({});
    const loud = failure(files.write('loud.txt', 'x', { metadata: { big: 'x'.repeat(5000) } }));
    expect((await loud)?.message).toContain('4096');
  });

  it('has a sudo on the programs of the host, which changes nobody', async () => {
    if (!isHostView) return;
    const run = async (command: string) => (await sandbox.commands.run(command)).stdout;
    expect(await run('sudo id -un; sudo -E -n A=1 sh -c "echo \\$A"; sudo -u root -- echo x')).toBe(
      'user\n1\nx\n',
    );
    expect(await run('sudo -i echo y; sudo echo "$UNSET"')).toBe('y\n\n');
    expect(await failure(run('sudo -u nobody-here id'))).toMatchObject({ exitCode: 1 });
    expect(await failure(run('sudo sh -c "exit 4"'))).toMatchObject({ exitCode: 4 });
    expect((await sandbox.commands.run('id -un', { user: 'root' })).stdout).toBe('user\n');
  });

  it('watches folders', async () => {
    const { files } = sandbox;
    await files.makeDir('seen/below');
    await files.write('seen/old.txt', 'old');
    const names: string[] = [];
    const watch = await files.watchDir('seen', ({ type, name }) => void names.push(`${type} ${name}`), {
      recursive: true,
    });
    await files.write('seen/new.txt', 'new');
    await files.write('seen/old.txt', 'newer');
    await files.rename('seen/new.txt', 'seen/below/moved.txt');
    await files.makeDir('seen/later');
    await files.write('seen/later/x.txt', 'x');
    await files.remove('seen/old.txt');
    await expect.poll(() => names.at(-1), LATER).toBe('remove old.txt');
    expect(names).toEqual(
      expect.arrayContaining([
        ...['create new.txt', 'write new.txt', 'write old.txt', 'rename new.txt'],
        ...['create below/moved.txt', 'create later', 'create later/x.txt', 'remove old.txt'],
      ]),
    );
    expect(names.filter((name) => name.includes('.svc-'))).toEqual([]);
    await watch.stop();
    expect((await failure(files.watchDir('nowhere', () => {})))?.name).toBe('FileNotFoundError');
    expect((await failure(files.watchDir('seen/later/x.txt', () => {})))?.name).toBe('InvalidArgumentError');
  });

  it('serves signed links, and no others', async () => {
    await sandbox.files.write('signed.txt', 'for you');
    const link = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: 60 });
    const answer = await fetch(link);
    expect([answer.status, await answer.text()]).toEqual([200, 'for you']);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-disposition')).toBe('attachment');
    expect(answer.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    const body = async (url: string, init?: RequestInit) => (await fetch(url, init)).json();
    const old = await sandbox.downloadUrl('signed.txt', { useSignatureExpiration: -10 });
    expect(await body(old)).toEqual({ code: 401, message: 'signature is already expired' });
    const forged = link.replace('signed.txt', 'other.txt');
    expect(await body(forged)).toEqual({ code: 401, message: 'invalid signature' });
    const form = new FormData();
    form.append('file', new Blob(['sent']), 'sent.txt');
    const sent = await body(await sandbox.uploadUrl('sent.txt'), { method: 'POST', body: form });
    expect(sent).toEqual([{ path: '/home/user/sent.txt', name: 'sent.txt', type: 'file' }]);
    expect(await sandbox.files.read('sent.txt')).toBe('sent');
  });

  it('measures what a sandbox uses', async () => {
    const [sample] = await sandbox.getMetrics();
    expect(sample).toMatchObject({ cpuCount: 1 });
    expect(sample?.memUsed).toBeGreaterThan(0);
    const before = { start: new Date(0), end: new Date(1000) };
    expect(await sandbox.getMetrics(before)).toEqual([]);
  });

  it('changes where a sandbox with a policy may connect', async () => {
    if (!isHostView || onWorker || ordinaryUser) return;
    const network = { denyOut: ['0.0.0.0/0'], allowOut: ['192.0.2.1'] };
    const narrow = await Sandbox.create({ ...options, network });
    await narrow.updateNetwork({ denyOut: ['192.0.2.0/24'] });
    const { body } = await api(server.url).call('GET', `/sandboxes/${narrow.sandboxId}/egress`);
    const rules = JSON.stringify(body);
    expect([rules.includes('192.0.2.0/24'), rules.includes('192.0.2.1')]).toEqual([true, false]);
    await narrow.kill();
    expect((await failure(sandbox.updateNetwork({})))?.message).toContain('409');
  });

  it('ends calls of a sandbox that is killed, and says so', async () => {
    const other = await Sandbox.create(options);
    const running = failure(other.commands.run('sleep 100'));
    await expect.poll(async () => (await other.commands.list()).length, LATER).toBe(1);
    await other.kill();
    expect((await running)?.message).toContain('The sandbox was killed or reached its end of life');
  });
};

eachRuntime([], 'programs for E2B', programs);
inContainers(['runc'], { needs: [], name: 'programs for E2B' }, programs);
onWorkers([], 'programs for E2B', programs);
