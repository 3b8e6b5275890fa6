// P38 of the speed table: sandboxes on images of one and of many layers.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../src/client/client.ts';
import type { StoreDeps } from '../src/images/image-store.ts';
import { importImages } from '../src/images/import.ts';
import type { Pair } from './row.ts';
import { withServer } from './server.ts';

const MANY_LAYERS = 60;
/** The distribution's: PATH may have another one first. */
export const PYTHON = '/usr/bin/python3';
/** Static, so that every image can have it. */
export const BUSYBOX = '/bin/busybox';

export interface SandboxWorld {
  /** The folder of the package. */
  root: string;
  home: string;
  store: StoreDeps;
}

export async function sandboxRows(
  { root, home, store }: SandboxWorld,
  measure: (pair: Pair) => Promise<void>,
): Promise<void> {
  const { signal } = new AbortController();
  for (const layers of [1, MANY_LAYERS]) {
    const archive = pythonImage(home, layers);
    await importImages(store, { source: archive, name: `bench/python:${layers}`, signal });
    rmSync(archive, { recursive: true });
  }
  const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_IMAGES_PATH: store.root };
  await withServer(root, { home, env }, async ({ client }) => {
    const many = { image: `bench/python:${MANY_LAYERS}` };
    await measure({
      id: 'P38-spawn',
      name: `userspace spawn + exec from an image of ${MANY_LAYERS} layers, against the host's programs`,
      target: 1.1,
      pairs: 60,
      ours: () => spawnAndExec(client, many),
      baseline: () => spawnAndExec(client, {}),
    });
    const [ours, baseline] = [
      await client.spawn({ ...many, ttl: '1h' }),
      await client.spawn({ image: 'bench/python:1', ttl: '1h' }),
    ];
    await measure({
      id: 'P38-python',
      name: `start of Python in an image of ${MANY_LAYERS} layers, against one of a single layer`,
      target: 1.05,
      pairs: 100,
      ours: () => pythonStart(client, ours.id),
      baseline: () => pythonStart(client, baseline.id),
    });
    await client.destroy(ours.id);
    await client.destroy(baseline.id);
  });
}

async function spawnAndExec(client: Client, request: { image?: string }): Promise<number> {
  const began = performance.now();
  const { id } = await client.spawn({ ...request, ttl: '5m' });
  const { exit_code } = await client.exec(id, { command: '/bin/busybox true' });
  const took = performance.now() - began;
  if (exit_code !== 0) throw new Error(`the command ended with ${exit_code}`);
  await client.destroy(id);
  return took;
}

async function pythonStart(client: Client, id: string): Promise<number> {
  const began = performance.now();
  const { exit_code } = await client.exec(id, { command: '/usr/bin/python3 -c "import json"' });
  if (exit_code !== 0) throw new Error(`Python ended with ${exit_code}`);
  return performance.now() - began;
}

/** What `docker save` writes, as a folder: this machine's Python and what it needs, spread over so many layers. */
export function pythonImage(home: string, layers: number): string {
  const folder = mkdtempSync(join(home, 'saved-'));
  const files = pythonFiles();
  const tars = Array.from({ length: layers }, (_, n) => `${n}.tar`);
  const digests = tars.map((name, n) => {
    const own = files.filter((_file, at) => at % layers === n);
    const list = own.map((path) => path.slice(1)).join('\n');
    const tar = ['-chf', join(folder, name), '-C', '/', '--no-recursion', '-T', '-'];
    execFileSync('tar', tar, { input: list, stdio: ['pipe', 'ignore', 'ignore'] });
    return `sha256:${createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')}`;
  });
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const config = { architecture, os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: digests } };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const manifest = { Config: 'config.json', RepoTags: [`bench/python:${layers}`], Layers: tars };
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify([manifest]));
  return folder;
}

/** The interpreter, its library, the libraries of both, a shell, and busybox. */
function pythonFiles(): string[] {
  const library = execFileSync(PYTHON, ['-c', LIBRARY], { encoding: 'utf8' }).trim().split('\n');
  const starters = [PYTHON, '/bin/sh', BUSYBOX];
  const modules = library.filter((path) => path.endsWith('.so'));
  const linked = execFileSync('ldd', [...starters.slice(0, 2), ...modules], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const libraries = [...linked.matchAll(/(?:=> |^\s+)(\/\S+)/gm)].map(([, path]) => path as string);
  return [...new Set([...starters, ...library, ...libraries])];
}

const LIBRARY = `
import os, sysconfig
for folder, folders, names in os.walk(sysconfig.get_path('stdlib')):
    folders[:] = [name for name in folders if name not in ('test', 'dist-packages', 'site-packages')]
    for name in names:
        print(os.path.join(folder, name))
`;
