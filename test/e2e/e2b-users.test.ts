// `user` and `root` as programs for E2B know them, where a sandbox tells its users apart: the newest unmodified SDK of npm against
// containers and virtual machines of an image with a user `user`, and over a worker.
import { Sandbox, type SandboxOpts } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { inContainers, inMachine, onWorkers, type Runtime } from '../support/hosts/matrix.ts';
import { api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const LATER = { timeout: 30_000 };
const asRoot = { user: 'root' as const };
/** As an image for E2B has them; Debian's has neither. */
const MAKE_USERS = [
  'set -e; cp -a /etc/skel /home/user',
  "echo 'user:x:1000:1000::/home/user:/bin/bash' >> /etc/passwd; echo 'user:x:1000:' >> /etc/group",
  "echo 'guest:x:1001:1001::/nowhere:/bin/bash' >> /etc/passwd; echo 'team:x:2000:guest,user' >> /etc/group",
  'chown -R 1000:1000 /home/user; chmod 700 /root; echo secret > /root/secret',
].join('; ');
const failure = async (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    ({ name, message }: Error) => ({ name, message }),
  );

const users = ({ env, onWorker, runner }: Runtime) => {
  if (runner === 'bwrap') return it.skip('users (one user for all there)', () => {});
  let server: TestServer;
  let sandbox: Sandbox;
  const options = (): SandboxOpts => ({
    ...{ apiKey: 'e2b_0', apiUrl: server.url, sandboxUrl: server.url, timeoutMs: 600_000 },
  });
  const run = async (command: string, more = {}) => (await sandbox.commands.run(command, more)).stdout;

  beforeAll(async () => {
    server = await startServer({ env, onWorker: onWorker ?? false });
    sandbox = await Sandbox.create(options());
    await run(MAKE_USERS, asRoot);
  }, 120_000);
  afterAll(async () => {
    await sandbox.kill();
    await server.stop();
    removeHome(server.home);
  });

  it('runs commands as the user that is named', async () => {
    const who = 'id -u; id -G; pwd; echo "$HOME $USER $LOGNAME"; cd ~; pwd';
    expect(await run(who)).toBe('1000\n1000 2000\n/home/user\n/home/user user user\n/home/user\n');
    expect(await run(who, { user: 'user' })).toContain('1000\n');
    expect(await run(who, asRoot)).toBe('0\n0\n/root\n/root root root\n/root\n');
    expect(await run('id -un; pwd; id -G', { user: 'guest' })).toBe('guest\n/\n1001 2000\n');
    expect((await failure(run('true', { user: 'nobody-here' })))?.message).toContain(
      "invalid username: 'nobody-here'",
    );
    expect(await run('cat /root/secret || echo closed', {})).toBe('closed\n');
    expect(await run('grep CapEff /proc/self/status')).toBe('CapEff:\t0000000000000000\n');
    // The pipes of gVisor have no owner.
    if (runner !== 'runsc') expect(await run('echo out > /dev/stdout')).toBe('out\n');
    // The promise of the isolation report holds for both; gVisor does not show it, and a virtual machine needs none.
    for (const user of runner === 'runc' ? (['user', 'root'] as const) : [])
      expect(await run('grep NoNewPrivs /proc/self/status', { user })).toBe('NoNewPrivs:\t1\n');
    // A user that was made a moment ago.
    await run("echo 'late:x:1002:1002::/tmp:/bin/sh' >> /etc/passwd", asRoot);
    expect(await run('id -un; pwd', { user: 'late' as 'user' })).toBe('late\n/tmp\n');
  });

  it('opens terminals of the user, and finds, feeds and kills what any user runs', async () => {
    let shown = '';
    const onData = (bytes: Uint8Array) => {
      shown += new TextDecoder().decode(bytes);
    };
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData });
    await sandbox.pty.sendInput(
      terminal.pid,
      new TextEncoder().encode('echo $(id -un) > $(tty); [ -O $(tty) ] && echo own$((6 * 7)); exit\n'),
    );
    await terminal.wait();
    expect(shown).toMatch(/user\r\n[\s\S]*own42/);
    const cat = await sandbox.commands.run('cat', { background: true, stdin: true });
    await sandbox.commands.sendStdin(cat.pid, 'fed\n');
    await sandbox.commands.closeStdin(cat.pid);
    expect((await cat.wait()).stdout).toBe('fed\n');
    const sleeping = await sandbox.commands.run('exec sleep 1000', { background: true });
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(sleeping.pid);
    expect(await sandbox.commands.kill(sleeping.pid)).toBe(true);
    await failure(sleeping.wait());
    expect((await failure(run('sleep 60', { timeoutMs: 500 })))?.name).toBe('TimeoutError');
  });

  it('writes and reads files with the rights of the user', async () => {
    const { files } = sandbox;
    const ownerOf = async (path: string) => {
      const { owner, group } = await files.getInfo(path, asRoot);
      return `${owner}:${group}`;
    };
    expect((await files.write('~/new/mine.txt', 'mine')).path).toBe('/home/user/new/mine.txt');
    expect([await ownerOf('/home/user/new'), await ownerOf('/home/user/new/mine.txt')]).toEqual([
      ...['user:user', 'user:user'],
    ]);
    await files.makeDir('made');
    await files.rename('new/mine.txt', 'moved/there.txt');
    expect([await ownerOf('/home/user/made'), await ownerOf('/home/user/moved')]).toEqual([
      ...['user:user', 'user:user'],
    ]);
    expect((await files.write('of-root.txt', 'x', asRoot)).path).toBe('/root/of-root.txt');
    expect(await ownerOf('/root/of-root.txt')).toBe('root:root');
    expect(await files.read('/root/secret', asRoot)).toBe('secret\n');
    for (const refused of [
      ...[() => files.read('/root/secret'), () => files.write('/root/x', 'x'), () => files.list('/root')],
      ...[() => files.remove('/root/of-root.txt'), () => files.write('/etc/x', 'x')],
      // Who may not read a folder may watch it under gVisor.
      ...(runner === 'runsc' ? [] : [() => files.watchDir('/root', () => {})]),
    ])
      expect((await failure(refused()))?.message).toMatch(/does not permit|403/);
    await run('ln -s /root/secret trap');
    expect((await failure(files.read('trap')))?.message).toMatch(/does not permit|403/);
    expect((await failure(files.read('x', { user: 'nobody-here' })))?.message).toContain('error looking up');
    // Programs write below the root, which is root's.
    const many = [0, 1, 2].map((at) => ({ path: `/${at}/deep/x.txt`, data: `${at}` }));
    expect((await files.writeFiles(many)).map(({ path }) => path)).toEqual(many.map(({ path }) => path));
    expect(await ownerOf('/2/deep/x.txt')).toBe('user:user');
    expect(await files.makeDir('/task/in')).toBe(true);
    expect(await run('touch /task/in/x && echo can')).toBe('can\n');
  });

  it('watches as the user', async () => {
    const seen: string[] = [];
    await sandbox.files.makeDir('seen');
    const watch = await sandbox.files.watchDir('seen', ({ type, name }) => void seen.push(`${type} ${name}`));
    await sandbox.files.write('seen/a', 'x');
    await expect.poll(() => seen, LATER).toContain('write a');
    await watch.stop();
  });

  it('serves signed links for the user that they are for', async () => {
    const link = await sandbox.downloadUrl('/root/secret', { user: 'root', useSignatureExpiration: 60 });
    expect(await (await fetch(link)).text()).toBe('secret\n');
    const forged = link.replace('username=root', 'username=user');
    expect((await fetch(forged)).status).toBe(401);
    const plain = await sandbox.downloadUrl('/root/secret', { useSignatureExpiration: 60 });
    expect((await fetch(plain)).status).toBe(403);
    const form = new FormData();
    form.append('file', new Blob(['sent']), 'sent.txt');
    const sent = await fetch(await sandbox.uploadUrl('sent.txt'), { method: 'POST', body: form });
    expect([
      sent.status,
      await run('stat -c %U sent.txt 2>/dev/null || find sent.txt -printf "%u\\n"'),
    ]).toEqual([200, 'user\n']);
  });

  it('keeps processes of users when the server is killed', { timeout: 90_000 }, async () => {
    const kept = await sandbox.commands.run('id -un; while read -r l; do echo "$l $(id -u)"; done', {
      ...{ background: true, stdin: true, timeoutMs: 0 },
    });
    await expect.poll(() => kept.stdout, LATER).toBe('user\n');
    const gone = failure(kept.wait());
    await server.kill();
    await gone;
    server = await startServer({ env, onWorker: onWorker ?? false, home: server.home });
    sandbox = await Sandbox.connect(sandbox.sandboxId, options());
    const again = await sandbox.commands.connect(kept.pid);
    await sandbox.commands.sendStdin(kept.pid, 'still\n');
    await expect.poll(() => again.stdout, LATER).toContain('still 1000\n');
    expect(await sandbox.commands.kill(kept.pid)).toBe(true);
    await failure(again.wait());
  });
};

inContainers(['runc'], { needs: [], name: 'set-user-id programs of an image' }, ({ env }) => {
  it('change the user where the configuration lets them, and the sandbox says so', LATER, async () => {
    const settings = { ...env, SVC_PROVIDERS_CONTAINER_NO_NEW_PRIVILEGES: 'false' };
    const server = await startServer({ env: settings, onWorker: false });
    const options = { apiKey: 'e2b_0', apiUrl: server.url, sandboxUrl: server.url };
    const sandbox = await Sandbox.create(options);
    await sandbox.commands.run(`${MAKE_USERS}; cp /usr/bin/id /bin/who-is; chmod 4755 /bin/who-is`, asRoot);
    const { stdout } = await sandbox.commands.run('who-is -u; id -u; grep NoNewPrivs /proc/self/status');
    expect(stdout).toBe('0\n1000\nNoNewPrivs:\t0\n');
    const { body } = await api(server.url).call('GET', '/providers/container');
    expect(JSON.stringify(body)).toContain(', set-user-id programs, capabilities CHOWN');
    await sandbox.kill();
    await server.stop();
    removeHome(server.home);
  });
});
inContainers(['runc', 'runsc'], { needs: [], name: 'users of programs for E2B' }, users);
onWorkers([], 'users of programs for E2B', users);
inMachine([], 'users of programs for E2B', users);
