// The machine that this process runs on. Nothing is cached but what cannot change during a boot.
import { constants, readFileSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { availableParallelism, totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import { accompany, detach } from './child-processes.ts';
import { fileSystem, ifThere, mayWrite, readHead, timeSyncs, tryFolder, tryLink } from './disk.ts';
import type { Host } from './host.ts';
import { run } from './run.ts';

const MEBIBYTE = 1024 * 1024;

/** The host seam over Node and the kernel. `path` is the PATH that `which` searches. */
export function realHost(path: string = process.env.PATH ?? ''): Host {
  return {
    uid: process.getuid?.() ?? -1,
    gid: process.getgid?.() ?? -1,
    cpus: availableParallelism(),
    memoryMb: Math.floor(totalmem() / MEBIBYTE),
    maxFiles: readMaxFiles(),
    bootId: readBootId(),
    stat: statIfThere,
    which: (name) => which(name, path),
    run,
    accompany,
    detach,
    read: (path, maxBytes) => orUnavailable(() => readHead(path, maxBytes)),
    mayWrite,
    tryFolder,
    tryLink,
    fileSystem: (path) => orUnavailable(() => fileSystem(path)),
    timeSyncs: (folder, count) => orUnavailable(() => timeSyncs(folder, count)),
    portFault,
  };
}

/** Node has raised the soft limit to the hard one by now. */
function readMaxFiles(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}

function statIfThere(path: string) {
  return orUnavailable(() => ifThere(() => stat(path)));
}

async function orUnavailable<T>(look: () => Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ServiceError('unavailable', `Could not inspect a file on this host (${code}).`, {
      cause: error,
      remedy: 'Check the permissions of the service user, and the disk.',
    });
  }
}

async function which(name: string, path: string): Promise<string | undefined> {
  const places = name.includes('/')
    ? [name]
    : path.split(delimiter).map((folder) => join(folder || '.', name));
  for (const place of places) if (await isProgram(place)) return place;
  return undefined;
}

/** A folder may carry the execute bit too, hence the look at its kind. */
async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** The seam's `portFault`. */
function portFault(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code ?? 'unknown'));
    server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}
