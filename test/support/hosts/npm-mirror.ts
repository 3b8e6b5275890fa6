// A registry of npm and a mirror of prebuilt binaries on loopback, made of what is installed here: a real `npm install`
// without a network.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { packageRoot } from '../servers/server.ts';

export interface NpmMirror {
  url: string;
  /** Paths below `/prebuilt` that were asked for. */
  prebuilt: string[];
  close(): Promise<void>;
}

interface Installed {
  name: string;
  version: string;
  /** Relative to the package. */
  folder: string;
}

/** `prebuilt`: whether there is a binary of better-sqlite3 to download. */
export async function startNpmMirror(options: { prebuilt: boolean }): Promise<NpmMirror> {
  const packages = installed();
  const asked: string[] = [];
  const server: Server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    if (path.startsWith('/prebuilt/')) asked.push(path.slice('/prebuilt'.length));
    if (path.startsWith('/prebuilt/') && options.prebuilt) binary(response);
    else answer(path, request, response, packages);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    prebuilt: asked,
    close: () => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections()),
  };
}

/** What the lock names and this machine has: packages that only other platforms need are not there. */
function installed(): Installed[] {
  const lock = JSON.parse(readFileSync(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  return Object.entries(lock.packages).flatMap(([folder, { version }]) => {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(folder) ?? [];
    return name === undefined ? [] : [{ name, version, folder }];
  });
}

function answer(path: string, request: IncomingMessage, response: ServerResponse, packages: Installed[]) {
  const packed = packages.find(({ name, version }) => path === `/tar/${name}/${version}`);
  // Only the folder that the compiler made is not in the published package.
  const made = packed?.folder === 'node_modules/better-sqlite3' ? ['--exclude=./build'] : [];
  if (packed) return sendTar(response, [...made, '--exclude=./node_modules', '.'], packed.folder);
  const versions = packages.filter(({ name }) => path === `/${name}`);
  if (versions.length === 0) {
    response.writeHead(404).end('{}');
    return;
  }
  const base = `http://${request.headers.host}/tar`;
  const described = versions.flatMap(({ name, version, folder }) => {
    const manifest = manifestOf(folder);
    return manifest
      ? [[version, { ...manifest, dist: { tarball: `${base}/${name}/${version}` } }] as const]
      : [];
  });
  const latest = described.at(0)?.[0];
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(
    JSON.stringify({ name: path.slice(1), 'dist-tags': { latest }, versions: Object.fromEntries(described) }),
  );
}

function manifestOf(folder: string): object | undefined {
  try {
    return JSON.parse(readFileSync(join(packageRoot, folder, 'package.json'), 'utf8')) as object;
  } catch {
    return undefined;
  }
}

const binary = (response: ServerResponse) =>
  sendTar(response, ['build/Release/better_sqlite3.node'], 'node_modules/better-sqlite3');

function sendTar(response: ServerResponse, paths: readonly string[], folder: string): void {
  const transform = paths.includes('.') ? ['--transform=s,^\\.,package,'] : [];
  const child = spawn('tar', ['-cz', '-C', join(packageRoot, folder), ...transform, ...paths], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  response.writeHead(200, { 'content-type': 'application/gzip' });
  child.stdout.pipe(response);
}
