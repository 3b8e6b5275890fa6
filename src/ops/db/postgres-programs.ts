// pg_dump and pg_restore, run for a database of ours. They get the password in their environment, never as an argument, and no
// text of a failure contains it.
import { closeSync, openSync, readSync } from 'node:fs';
import type { DatabaseAddress } from '../../domain/database-address.ts';
import { ServiceError } from '../../domain/errors.ts';
import { printable } from '../../domain/printable.ts';
import type { Host } from '../../host/host.ts';

const LONG_MS = 6 * 3_600_000;
const MAGIC = 'PGDMP';

export interface ProgramTask {
  host: Host;
  signal?: AbortSignal | undefined;
}

/** For `--dbname`: the primary among the hosts, with every value quoted, without the password. */
export function connectionString({ hosts, user, database, tls, authorityFile }: DatabaseAddress): string {
  const values = {
    host: hosts.map(({ host }) => host).join(','),
    port: hosts.map(({ port }) => port).join(','),
    user,
    dbname: database,
    target_session_attrs: 'read-write',
    sslmode: tls,
    ...(authorityFile !== undefined && { sslrootcert: authorityFile }),
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}='${value.replaceAll(/[\\']/g, '\\$&')}'`)
    .join(' ');
}

/** Writes the database to `file` in pg_dump's custom format, which only its owner can read. */
export async function dumpTo(file: string, address: DatabaseAddress, task: ProgramTask): Promise<void> {
  const args = ['--format=custom', `--file=${file}`, `--dbname=${connectionString(address)}`];
  await runProgram('pg_dump', args, { ...task, password: address.password() });
}

/** Fills an empty database. */
export async function restoreInto(address: DatabaseAddress, file: string, task: ProgramTask): Promise<void> {
  const args = ['--no-owner', '--single-transaction', `--dbname=${connectionString(address)}`, file];
  await runProgram('pg_restore', args, { ...task, password: address.password() });
}

/** Whether the file starts as pg_dump's custom format does. */
export function isDump(file: string): boolean {
  const fd = openSync(file, 'r');
  try {
    const head = Buffer.alloc(MAGIC.length);
    return readSync(fd, head) === MAGIC.length && head.toString('latin1') === MAGIC;
  } finally {
    closeSync(fd);
  }
}

export interface DumpFacts {
  /** Whether the dump contains the table that marks a database of this service. */
  ours: boolean;
  schema_version?: number;
  instance?: string;
}

/** Throws `internal` for a dump that pg_restore cannot read to its end. */
export async function readDump(file: string, task: ProgramTask): Promise<DumpFacts> {
  const list = await runProgram('pg_restore', ['--list', file], task);
  await runProgram('pg_restore', ['--file=/dev/null', file], task);
  if (!/ TABLE \S+ schema_facts /.test(list)) return { ours: false };
  const first = async (table: string, column: string) => {
    const text = await runProgram('pg_restore', ['--data-only', `--table=${table}`, '--file=-', file], task);
    const [, columns = '', row = ''] = /^COPY \S+ \(([^)]*)\) FROM stdin;\n([^\n]*)$/m.exec(text) ?? [];
    return row.split('\t')[columns.split(', ').indexOf(column)];
  };
  const [version, instance] = [await first('schema_facts', 'version'), await first('instance', 'id')];
  return {
    ours: true,
    ...(version !== undefined && { schema_version: Number(version) }),
    ...(instance !== undefined && { instance }),
  };
}

async function runProgram(
  name: string,
  args: readonly string[],
  { host, signal, password }: ProgramTask & { password?: string },
): Promise<string> {
  const program = await host.which(name);
  if (program === undefined)
    throw new ServiceError('unavailable', `This host has no ${name}.`, {
      remedy:
        'Install the client programs of PostgreSQL, for example with apt-get install postgresql-client.',
    });
  const env = {
    PATH: process.env.PATH ?? '',
    LC_ALL: 'C',
    ...(password !== undefined && { PGPASSWORD: password }),
  };
  const { code, stdout, stderr } = await host.run(program, args, {
    env,
    timeoutMs: LONG_MS,
    ...(signal && { signal }),
  });
  if (code === 0) return stdout;
  const reason = printable(stderr.trim().split('\n').at(-1) ?? '').slice(0, 300);
  throw new ServiceError('internal', `${name} failed: ${reason}`, {
    remedy: 'Use client programs of at least the version of the server, and check the rights of the user.',
  });
}
