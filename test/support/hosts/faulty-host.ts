// A server beneath which the disk and the wall clock do as a test says (faulty-host.c, preloaded).
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../src/host/package-root.ts';
import { type Api, api } from '../servers/api.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../servers/server.ts';

export const EIO = 5;
export const ENOSPC = 28;
export const EROFS = 30;

const FIELDS = ['write_errno', 'sync_errno', 'sync_ms', 'clock_s', 'read_errno'] as const;
export type Faults = Partial<Record<(typeof FIELDS)[number], number>>;

export interface FaultyHost {
  /** For the server. */
  env: Record<string, string>;
  /** From now on; what is not named is as it should be. */
  set(faults: Faults): void;
}

/** `folder` lasts as long as the server. */
export function faultyHost(folder: string): FaultyHost {
  const [library, page] = [join(folder, 'faulty-host.so'), join(folder, 'faulty-host')];
  const source = join(packageRoot(), 'test/support/hosts/faulty-host.c');
  execFileSync('cc', [
    '-shared',
    '-fPIC',
    '-O1',
    '-Wall',
    '-Wextra',
    '-Werror',
    '-o',
    library,
    source,
    '-ldl',
  ]);
  writeFileSync(page, Buffer.alloc(4096));
  return {
    env: { LD_PRELOAD: library, FAULTY_HOST: page },
    set: (faults) => {
      const bytes = Buffer.alloc(4 * FIELDS.length);
      FIELDS.forEach((field, at) => void bytes.writeInt32LE(faults[field] ?? 0, 4 * at));
      const file = openSync(page, 'r+');
      writeSync(file, bytes, 0, bytes.length, 0);
      closeSync(file);
    },
  };
}

/** A server on such a host; `endFaulty` takes both away. */
export async function faultyServer(): Promise<{ server: TestServer; client: Api; host: FaultyHost }> {
  const home = makeHome();
  const host = faultyHost(home);
  const server = await startServer({ home, env: host.env });
  return { server, client: api(server.url), host };
}

/** Undefined: one that did not start. */
export async function endFaulty(server: TestServer | undefined): Promise<void> {
  await server?.kill();
  if (server) removeHome(server.home);
}
