// A real PgBouncer before a PostgreSQL server, in transaction mode: each transaction may run on another connection.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../free-port.ts';
import { debianLibraries, debianProgram } from '../hosts/debian-program.ts';
import { PASSWORD, type PostgresServer, USER, withClient } from '../hosts/postgres.ts';
import { removeFolder } from '../remove.ts';
import { until } from '../until.ts';

/** PgBouncer refuses to run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Its port. It ends with the test. */
export async function startPooler({ port: server }: PostgresServer): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pooler-'));
  const port = await freePort();
  writeFileSync(join(folder, 'users'), `"${USER}" "${PASSWORD}"\n`);
  writeFileSync(join(folder, 'pgbouncer.ini'), configuration(folder, port, server));
  chmodSync(folder, 0o711);
  if (NOBODY.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const command = debianProgram('pgbouncer', ['pgbouncer']);
  if (command === undefined) throw new Error('This host has no PgBouncer.');
  const child = spawn(command, [join(folder, 'pgbouncer.ini')], {
    ...NOBODY,
    env: { PATH: process.env.PATH, ...debianLibraries('pgbouncer') },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    removeFolder(folder);
  });
  await until('PgBouncer answers', () => {
    if (child.exitCode !== null) throw new Error('PgBouncer ended.');
    return withClient(port, 'postgres', async () => true).catch(() => false);
  });
  return port;
}

const configuration = (folder: string, port: number, server: number) => `[databases]
* = host=127.0.0.1 port=${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, 'users')}
pool_mode = transaction
default_pool_size = 20
max_client_conn = 200
`;
