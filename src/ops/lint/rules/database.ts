// Rules about where state is kept. A path is judged by its shape alone: lint looks at no file system but for the file.
import { isAbsolute, normalize } from 'node:path';
import { refusedKeys } from '../../../config/replica-config.ts';
import { type DatabaseAddress, parseAddress, passwordsIn } from '../../../domain/database-address.ts';
import { isLoopbackHost } from '../../../domain/loopback.ts';
import { findingIf, rulesOf } from '../rule.ts';

const TEMPORARY = /^\/(?:tmp|var\/tmp|dev\/shm|run|var\/run)(?:\/|$)/;
const NETWORK =
  /^(?:\/\/|\\\\|[a-z][a-z0-9+.-]*:\/\/)|^\/(?:net|nfs|afs|cifs|smb|Volumes)\/|^\/(?:mnt|media|srv|data|export)\/(?:[^/]*[-_])?(?:nfs\d?|efs|cifs|smb|samba|gluster(?:fs)?|ceph(?:fs)?|lustre|nas|sshfs)(?:[-_/]|$)/i;

const isNetwork = (path: string) => NETWORK.test(path);
const isTemporary = (path: string) => TEMPORARY.test(normalize(path));

/** Undefined without a URL, and for a malformed one, which the loader reports. */
function addressOf(url: string | undefined): DatabaseAddress | undefined {
  try {
    return url === undefined ? undefined : parseAddress(url);
  } catch {
    return undefined;
  }
}

/** Whether somebody on the network could pretend to be the database. */
const isUnverified = ({ tls, hosts }: DatabaseAddress) =>
  tls !== 'verify-full' && hosts.some(({ host }) => !isLoopbackHost(host));

export const DATABASE_RULES = rulesOf('database', [
  {
    id: 'SVC401',
    key: 'database.path',
    title: 'The path of the database is relative.',
    why: 'The path is relative to the working directory of the service. Started in another directory, the service uses a new, empty database and does not know its previous sandboxes.',
    remedy: 'Set database.path to an absolute path, such as /var/lib/svc/svc.db.',
    example: 'database:\n  path: /var/lib/svc/svc.db\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database } }) => findingIf(!isAbsolute(database.path) && !isNetwork(database.path)),
  },
  {
    id: 'SVC402',
    key: 'database.path',
    title: 'The database is in a temporary directory.',
    why: 'The system empties temporary directories at boot or by age. This deletes records, quotas, templates and the audit.',
    remedy: 'Move the database to a persistent directory, such as /var/lib/svc.',
    example: 'database:\n  path: /var/lib/svc/svc.db\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database } }) => findingIf(isTemporary(database.path) && !isNetwork(database.path)),
  },
  {
    id: 'SVC403',
    key: 'database.path',
    title: 'The database appears to be on a network file system.',
    why: 'Locks on network file systems fail silently, and the shared memory of the write-ahead log does not work on them. Two servers can write at the same time and damage the file.',
    remedy: 'Move the database to a local disk, and use backups to copy it elsewhere.',
    example: 'database:\n  path: /var/lib/svc/svc.db\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database } }) => findingIf(isNetwork(database.path)),
  },
  {
    id: 'SVC404',
    key: 'database.synchronous',
    title: 'A power failure can lose the last commits.',
    why: 'The record of a sandbox that started or ended shortly before is then wrong until the service finds its runtime.',
    remedy: 'Set database.synchronous to full.',
    example: 'database:\n  synchronous: full\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { database } }) => findingIf(database.synchronous !== 'full'),
  },
  {
    id: 'SVC405',
    key: 'database.url',
    title: 'The file contains the password of the database.',
    why: 'Whoever reads the file can read and change all records, with the keys that protect sandboxes and links. Configuration files are copied, committed and shared.',
    remedy: 'Write the URL to a file that only the service can read, and set database.url_file to its path.',
    example: 'database:\n  url_file: /etc/svc/database-url\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database }, files }) =>
      passwordsIn(database.url ?? '').length === 0
        ? []
        : files
            .filter(({ inlineSecrets }) => inlineSecrets.includes('database.url'))
            .map(({ file }) => ({ file })),
  },
  {
    id: 'SVC406',
    key: 'database.url',
    title: 'The identity of the database server is not checked.',
    why: 'With sslmode=disable the network carries the password exchange and all records in plain text. With sslmode=require another machine on the network can pretend to be the database.',
    remedy:
      'Set sslmode=verify-full in database.url, and sslrootcert to the file of the authority if it is not a public one.',
    example: 'database:\n  url: postgres://svc@db1.internal:5432/svc?sslmode=verify-full\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database } }) => {
      const address = addressOf(database.url);
      return findingIf(address !== undefined && isUnverified(address));
    },
  },
  {
    id: 'SVC407',
    key: 'database.url',
    title: 'A server over PostgreSQL cannot run sandboxes itself.',
    why: 'Only the server that started such a sandbox could reach it, but any number of servers may use the database. `svc serve` refuses to start.',
    remedy:
      'Remove the key, and run `svc worker` with a configuration of its own on hosts that run sandboxes.',
    example: 'database:\n  url: postgres://svc@127.0.0.1/svc\n',
    level: 'error',
    production: 'error',
    check: ({ config, sources }) =>
      config.database.url === undefined
        ? []
        : refusedKeys({ config, sources }).flatMap(({ key }) =>
            key === undefined ? [] : [{ key, message: `${key} cannot be true with database.url.` }],
          ),
  },
  {
    id: 'SVC408',
    key: 'database.require_sync_standby',
    title: 'Nothing warns if commits in PostgreSQL do not wait for a standby.',
    why: 'A failover to a standby that is behind loses changes that were acknowledged: sandboxes that run without a record, and quotas that do not hold.',
    remedy:
      'Set database.require_sync_standby to true and synchronous_standby_names in PostgreSQL. Keep false, with a baseline, if the database replicates its storage.',
    example: 'database:\n  url: postgres://svc@127.0.0.1/svc\n  require_sync_standby: true\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { database } }) =>
      findingIf(database.url !== undefined && !database.require_sync_standby),
  },
]);
