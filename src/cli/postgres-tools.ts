// Commands for files refuse a PostgreSQL database, and name the program of PostgreSQL that does the same.
import { type DatabaseAddress, parseAddress } from '../domain/database-address.ts';
import { ServiceError } from '../domain/errors.ts';

/** The commands that work on a database file. */
export type FileCommand = 'accept' | 'backup' | 'restore' | 'verify';

const REMEDIES: Record<FileCommand, (connection: string) => string> = {
  accept: () => 'Nothing needs to be accepted: PostgreSQL itself replays its log after a crash.',
  backup: (connection) => `Run pg_dump --format=custom --file=svc.dump "${connection}".`,
  restore: (connection) =>
    `Stop every server, then run pg_restore --clean --if-exists --no-owner --single-transaction --dbname="${connection}" svc.dump.`,
  verify: (connection) => `Run pg_amcheck "${connection}", or check a dump: svc db verify svc.dump.`,
};

export const isDatabaseUrl = (text: string): boolean => /^postgres(?:ql)?:\/\//i.test(text);

/** The refusal of `command` for the database of `url`; no text of it contains the password. Throws for a malformed URL. */
export function refusedUrl(command: FileCommand, url: string): ServiceError {
  return new ServiceError('bad_request', 'The command works on database files, not on PostgreSQL.', {
    remedy: REMEDIES[command](connectionOf(parseAddress(url))),
  });
}

/** For programs of PostgreSQL, which ask for the password, or read it from PGPASSFILE. */
function connectionOf({ hosts, user, database, tls, authorityFile }: DatabaseAddress): string {
  const values = {
    host: hosts.map(({ host }) => host).join(','),
    port: hosts.map(({ port }) => port).join(','),
    user: plain(user, 'USER'),
    dbname: plain(database, 'DATABASE'),
    target_session_attrs: 'read-write',
    sslmode: tls,
    ...(authorityFile !== undefined && { sslrootcert: plain(authorityFile, 'FILE') }),
  };
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** The value, or a placeholder for one that a shell or PostgreSQL would need quoted. */
const plain = (value: string, placeholder: string): string =>
  /^[A-Za-z0-9_./@-]+$/.test(value) ? value : placeholder;
