// The file commands against a real server and real sandboxes: what a person types, byte for byte both ways.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FileInfo } from '../../src/schema/file.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { describeWith } from '../support/requires.ts';
import { type CliRun, runCli } from '../support/servers/run-cli.ts';
import { cli, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

describeWith(['unshare'], 'svc file commands', () => {
  let server: TestServer;
  let id: string;
  const svc = (...args: string[]): Promise<CliRun> => runCli(args, { SVC_SERVER: server.url });
  const sandbox = (verb: string, ...args: string[]) => svc('sandbox', verb, ...args);
  const sh = async (line: string) => (await sandbox('exec', id, '--shell', '--', line)).stdout;
  const json = async <T>(...args: string[]): Promise<T> => {
    const run = await svc(...args, '--json');
    expect(run).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(run.stdout) as T;
  };

  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    id = (await json<Sandbox>('sandbox', 'create')).id;
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('writes, prints, lists, moves, changes and deletes', async () => {
    const bytes = Buffer.from([0, 255, 10, 13, 128]);
    const env = { SVC_SERVER: server.url };
    const args = ['sandbox', 'write', id, 'dir/raw', '--mode', '640'];
    expect(await runCli(args, env, bytes)).toMatchObject({ code: 0, stdout: '5 bytes written\n' });
    expect(await sh('od -An -tx1 dir/raw')).toBe(' 00 ff 0a 0d 80\n');
    const [file] = await json<FileInfo[]>('sandbox', 'ls', id, 'dir');
    expect(file).toMatchObject({ path: '/workspace/dir/raw', size: 5, mode: '640' });
    expect((await sandbox('ls', id, 'dir')).stdout).toMatch(
      /^MODE +SIZE +MODIFIED +NAME\n-rw-r----- +5 +\S+Z +raw\n$/,
    );
    await sh('printf one > a; printf two > b');
    expect((await sandbox('cat', id, 'a', 'b')).stdout).toBe('onetwo');
    expect(await json('sandbox', 'cat', id, 'a')).toEqual([
      { path: '/workspace/a', size: 3, content: 'b25l', encoding: 'base64' },
    ]);
    expect((await sandbox('mv', id, 'a', 'c')).code).toBe(0);
    expect((await sandbox('chmod', id, '600', 'b', 'c')).code).toBe(0);
    expect(await sh('stat -c %a b c')).toBe('600\n600\n');
    expect((await sandbox('mkdir', id, 'x/y/z', '--mode', '700')).code).toBe(0);
    expect((await sandbox('mkdir', id, 'x', '--no-parents')).code).toBe(5);
    expect((await sandbox('stat', id, 'x/y/z')).stdout).toContain('700 drwx------');
    expect((await sandbox('glob', id, '{b,c}')).stdout).toBe('/workspace/b\n/workspace/c\n');
    expect((await sandbox('rm', id, 'x')).code).toBe(5);
    expect((await sandbox('rm', id, '-r', 'x', 'dir', 'b', 'c')).code).toBe(0);
    expect(await sh('ls -A')).toBe('');
  });

  it('names the paths on which a command failed', async () => {
    await sh('touch there');
    const run = await sandbox('rm', id, 'there', 'gone1', 'gone2');
    expect(run).toMatchObject({ code: 4, stdout: '' });
    expect(run.stderr).toMatch(/2 of 3 were not deleted\.\n {2}- .*gone1.*\n {2}- .*gone2/);
    expect((await sandbox('cat', id, 'gone')).code).toBe(4);
    expect((await sandbox('rm', id, '')).code).toBe(2);
  });

  it('copies a folder in and out again with its modes and links', async () => {
    const here = temporaryFolder();
    const source = join(here, 'src');
    mkdirSync(join(source, 'deep/er'), { recursive: true });
    writeFileSync(join(source, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 });
    writeFileSync(join(source, 'deep/er/big'), Buffer.alloc(3_000_000, 7));
    writeFileSync(join(source, 'empty'), '');
    writeFileSync(join(source, 'ünïcode %41 name'), 'x', { mode: 0o600 });
    mkdirSync(join(source, 'closed'));
    writeFileSync(join(source, 'closed/file'), 'y');
    chmodSync(join(source, 'closed'), 0o555);
    symlinkSync('deep/er/big', join(source, 'link'));
    symlinkSync('../run.sh', join(source, 'deep/up'));
    const report = await json<Record<string, unknown>>('sandbox', 'cp', source, `${id}:/workspace`);
    expect(report).toMatchObject({ files: 5, folders: 4, links: 2, bytes: 3_000_012, left_out: [] });
    expect(await sh('stat -c %a src/run.sh src/closed; readlink src/link src/deep/up; wc -c <src/link')).toBe(
      '755\n555\ndeep/er/big\n../run.sh\n3000000\n',
    );
    const run = await sandbox('cp', `${id}:src`, join(here, 'copy'));
    expect(run).toMatchObject({ code: 0, stdout: '' });
    expect(run.stderr).toMatch(/^5 files, 4 folders, 2 links, 2\.9 MiB in /);
    const copy = join(here, 'copy');
    expect(readdirSync(copy).sort()).toEqual(readdirSync(source).sort());
    expect(statSync(join(copy, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(statSync(join(copy, 'closed')).mode & 0o777).toBe(0o555);
    expect(readFileSync(join(copy, 'deep/er/big')).equals(Buffer.alloc(3_000_000, 7))).toBe(true);
    expect(readlinkSync(join(copy, 'deep/up'))).toBe('../run.sh');
    expect(readFileSync(join(copy, 'ünïcode %41 name'), 'utf8')).toBe('x');
    await sandbox('cp', `${id}:src/.`, copy);
    expect(readdirSync(copy).sort()).toEqual(readdirSync(source).sort());
    chmodSync(join(source, 'closed'), 0o755);
    chmodSync(join(copy, 'closed'), 0o755);
  });

  it('copies one file to a name, into a folder, from and to standard streams, and between sandboxes', async () => {
    const here = temporaryFolder();
    await sh('rm -rf *; printf data > f; ln -s f l');
    expect((await sandbox('cp', `${id}:f`, join(here, 'name'))).code).toBe(0);
    expect((await sandbox('cp', `${id}:f`, here)).code).toBe(0);
    expect((await sandbox('cp', `${id}:l`, join(here, 'of-link'))).code).toBe(0);
    expect(['name', 'f', 'of-link'].map((name) => readFileSync(join(here, name), 'utf8'))).toEqual([
      'data',
      'data',
      'data',
    ]);
    expect((await sandbox('cp', `${id}:f`, '-')).stdout).toBe('data');
    expect((await sandbox('cp', `${id}:/workspace`, '-')).code).toBe(2);
    const env = { SVC_SERVER: server.url };
    expect((await runCli(['sandbox', 'cp', '-', `${id}:in`], env, 'stdin')).code).toBe(0);
    expect(await sh('cat in')).toBe('stdin');
    const other = await json<Sandbox>('sandbox', 'create');
    expect((await sandbox('cp', `${id}:/workspace`, `${other.id}:all`)).code).toBe(0);
    const listed = await sandbox('exec', other.id, '--shell', '--', 'cat all/f; readlink all/l');
    expect(listed.stdout).toBe('dataf\n');
    expect((await sandbox('cp', `${id}:gone`, here)).code).toBe(4);
    expect((await sandbox('cp', join(here, 'gone'), `${id}:x`)).code).toBe(4);
    expect((await sandbox('cp', here, join(here, 'x'))).code).toBe(2);
    expect((await sandbox('cp', `${id}:f`, join(here, 'no/folder/'))).code).toBe(4);
  });

  it('leaves out links that could reach outside, and names them', async () => {
    const here = temporaryFolder();
    writeFileSync(join(here, 'secret'), 'mine');
    await sh(
      "rm -rf *; mkdir d; ln -s / d/root; ln -s ../../secret d/out; ln -s . d/self; ln -s self/../.. d/chain; mkfifo d/pipe; printf z > d/z; printf e > $(printf 'd/\\033[2Jx'); chmod 4755 d/z",
    );
    const run = await sandbox('cp', `${id}:d`, join(here, 'd'));
    expect(run.code).toBe(0);
    expect(
      run.stderr
        .split('\n')
        .filter((line) => line.startsWith('left out'))
        .sort(),
    ).toEqual([
      'left out: chain: the link leads out of what is copied',
      'left out: out: the link leads out of what is copied',
      'left out: pipe: it is not a file, folder or link',
      'left out: root: the link leads out of what is copied',
    ]);
    expect(run.stderr).not.toContain('\u001b');
    expect(readdirSync(join(here, 'd')).sort()).toEqual(['\u001b[2Jx', 'self', 'z']);
    expect(lstatSync(join(here, 'd/z')).mode & 0o7777).toBe(0o755);
    expect(readFileSync(join(here, 'secret'), 'utf8')).toBe('mine');
    expect((await sandbox('ls', id, 'd')).stdout).not.toContain('\u001b');
  });

  it('says after Ctrl-C that the copy is not complete, and leaves no part of a file', async () => {
    await sh('rm -rf *; mkdir big; printf a > big/a; truncate -s 400M big/b');
    const here = temporaryFolder();
    const child = spawn(process.execPath, [cli, 'sandbox', 'cp', `${id}:big`, here], {
      env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: server.url },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const stderr = child.stderr.toArray();
    const code = once(child, 'close').then(([status]) => status as number);
    const names = () => (existsSync(join(here, 'big')) ? readdirSync(join(here, 'big')) : []);
    await until('the large file to be under way', () => names().some((name) => name.startsWith('.svc-cp')));
    child.kill('SIGINT');
    expect(await code).toBe(130);
    const said = Buffer.concat(await stderr).toString();
    expect(said).toMatch(/^Interrupted after [\d.]+ \w+\. The copy in /);
    expect(said).toContain(`The copy in ${here} is not complete.\n`);
    expect(names()).toEqual(['a']);
    await sh('rm -rf big');
  });

  it('explains the state of a sandbox', async () => {
    const { id: one } = await json<Sandbox>('sandbox', 'create');
    expect(await json('sandbox', 'explain', one)).toMatchObject({ state: 'running', provider: 'userspace' });
    await sandbox('destroy', one);
    const run = await sandbox('explain', one);
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(/state: +ended\nwhy: +It was destroyed by a request\.\n/);
    expect((await sandbox('explain', 'sb-000000000000')).code).toBe(4);
  });

  it('suggests the command that was meant', async () => {
    expect(await svc('sandbox', 'lst')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Error: sandbox lst is not a command.\nTry: svc sandbox list --help\n',
    });
  });
});
