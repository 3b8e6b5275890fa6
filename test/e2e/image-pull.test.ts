// `svc image pull` as a person uses it: from Debian's registry over TLS with a password, killed in the middle and repeated,
// and what it refuses.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { packageRoot } from '../../src/host/package-root.ts';
import type { Image } from '../../src/schema/image.ts';
import type { PulledImage } from '../../src/schema/image-calls.ts';
import type { ImageListItem } from '../../src/schema/image-report.ts';
import { REGISTRY_PASSWORD, realRegistry } from '../support/hosts/docker-registry.ts';
import { ociFiles, sha256 } from '../support/hosts/image-archives.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const noise = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => (at * at * 31) >> 9));
const BASE = tarArchive({ name: 'bin/tool', content: noise, mode: 0o755 });
const TOP = tarArchive({ name: 'opt/app', content: 'app' });
const plain = (bytes: Buffer) => bytes;

describeWith(['docker-registry', 'openssl'], 'svc image pull', () => {
  let folder: string;
  let env: Record<string, string>;
  beforeEach(() => {
    folder = temporaryFolder();
    env = { HOME: folder, SVC_IMAGES_PATH: join(folder, 'store') };
  });
  const svc = (args: string[]) => runCli(['image', ...args], env);
  const json = async <T>(args: string[]): Promise<T> => {
    const run = await svc([...args, '--json']);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(run.stdout) as T;
  };
  const inStore = (name: string) =>
    existsSync(join(folder, 'store', name)) ? readdirSync(join(folder, 'store', name)) : [];

  it('gets images from a registry with TLS and a password, and shares their layers', async () => {
    const registry = await realRegistry('basic');
    env.NODE_EXTRA_CA_CERTS = registry.caFile;
    env.SVC_IMAGES_REGISTRIES = registry.host;
    env.SVC_IMAGES_DOCKER_CONFIG = registry.dockerConfig;
    const digest = await registry.put('team/tool', { files: ociFiles({ layers: [BASE], pack: plain }) }, '1');
    await registry.put('team/more', { files: ociFiles({ layers: [BASE, TOP] }) }, '1');
    const name = `${registry.host}/team/tool:1`;
    const pulled = await json<PulledImage>(['pull', name]);
    expect(pulled).toMatchObject({
      name,
      digest,
      source: 'registry',
      fetched_bytes: BASE.length,
      unchanged: false,
    });
    expect(await json<Image>(['inspect', name])).toMatchObject({
      name,
      digest,
      layers: [`sha256:${sha256(BASE)}`],
    });
    expect((await svc(['pull', name])).stdout).toMatch(new RegExp(`^${name} is up to date\\.\n\nimage: `));
    const more = await svc(['pull', `${registry.host}/team/more:1`]);
    expect(more.stdout).toMatch(/^Pulled .*\/team\/more:1: fetched \d+ B\.\n/);
    expect(await json<ImageListItem[]>(['list'])).toHaveLength(2);
    const missing = await svc(['pull', `${registry.host}/team/none:1`]);
    expect(missing).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('does not have') });
    env.NODE_EXTRA_CA_CERTS = '';
    const untrusted = await svc(['pull', `${registry.host}/team/none:1`]);
    expect(untrusted).toMatchObject({ code: 8, stderr: expect.stringContaining('NODE_EXTRA_CA_CERTS') });
    expect([missing.stderr, untrusted.stderr, more.stdout].join()).not.toContain(REGISTRY_PASSWORD);
  });

  it('continues after a kill, and leaves nothing of it', async () => {
    const files = ociFiles({ layers: [BASE], pack: plain });
    const ranges: (string | undefined)[] = [];
    const cut = BASE.length - 100_000;
    const host = await listen((asked, response) => {
      const [, kind, digest = ''] = /\/(manifests|blobs)\/(.+)$/.exec(asked.url ?? '') ?? [];
      const top = (
        JSON.parse(`${files.get('index.json')}`) as { manifests: { digest: string; mediaType: string }[] }
      ).manifests[0];
      if (kind === undefined) return void response.end('{}');
      if (kind === 'manifests') response.setHeader('content-type', `${top?.mediaType}`);
      const bytes = files.get(`blobs/sha256/${(kind === 'manifests' ? top?.digest : digest)?.slice(7)}`);
      if (!digest.endsWith(sha256(BASE))) return void response.end(bytes);
      ranges.push(asked.headers.range);
      const from = Number(/\d+/.exec(asked.headers.range ?? '')?.[0] ?? 0);
      const range = { 'content-range': `bytes ${from}-${BASE.length - 1}/${BASE.length}` };
      response.writeHead(from > 0 ? 206 : 200, {
        'content-length': BASE.length - from,
        ...(from > 0 && range),
      });
      if (from > 0) response.end(bytes?.subarray(from));
      else response.write(bytes?.subarray(0, cut));
    });
    env.SVC_IMAGES_REGISTRIES = host;
    const child = start(['image', 'pull', `${host}/team/tool:1`], env);
    const blobs = join(folder, 'store/blobs');
    const part = () => inStore('blobs').find((name) => name.startsWith(sha256(BASE)));
    const kept = () => {
      const name = part();
      return name === undefined ? 0 : statSync(join(blobs, name)).size;
    };
    // The last piece is not yet written.
    await until('most of the layer is on disk', () => kept() > cut / 2);
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
    expect([inStore('layers'), inStore('names')]).toEqual([[], []]);
    const from = kept();
    const pulled = await json<PulledImage>(['pull', `${host}/team/tool:1`]);
    expect(pulled).toMatchObject({ fetched_bytes: BASE.length - from, unchanged: false });
    expect(ranges).toEqual([undefined, `bytes=${from}-`]);
    expect([inStore('blobs'), inStore('tmp')]).toEqual([[], []]);
  });

  it.each<[string, string[], Record<string, string>, number, string]>([
    ['what is not a name', ['Team/../x'], {}, 2, '[registry/]path[:tag]'],
    ['a registry that is not allowed', ['registry.example/x'], {}, 6, 'images.registries'],
    [
      'every registry where none is allowed',
      ['alpine'],
      { SVC_IMAGES_REGISTRIES: '' },
      6,
      'images.registries',
    ],
    ['an invalid platform', ['alpine', '--platform', 'arm64'], {}, 2, 'linux/arm64'],
    [
      'a file of credentials that is missing',
      ['alpine'],
      { SVC_IMAGES_DOCKER_CONFIG: '/nowhere' },
      8,
      'images.docker_config',
    ],
  ])('refuses %s', async (_, args, more, code, words) => {
    env = { ...env, ...more };
    const run = await svc(['pull', ...args]);
    expect(run).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(words) });
  });
});

async function listen(handler: (asked: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function start(args: string[], env: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, [join(packageRoot(), 'bin/svc.js'), ...args], {
    stdio: 'ignore',
    env: { PATH: process.env.PATH, ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}
