// Rules about where state is kept. A path is judged by its shape alone: lint looks at no file system but for the file.
import { isAbsolute, normalize } from 'node:path';
import { findingIf, rulesOf } from '../rule.ts';

const TEMPORARY = /^\/(?:tmp|var\/tmp|dev\/shm|run|var\/run)(?:\/|$)/;
const NETWORK =
  /^(?:\/\/|\\\\|[a-z][a-z0-9+.-]*:\/\/)|^\/(?:net|nfs|afs|cifs|smb|Volumes)\/|^\/(?:mnt|media|srv|data|export)\/(?:[^/]*[-_])?(?:nfs\d?|efs|cifs|smb|samba|gluster(?:fs)?|ceph(?:fs)?|lustre|nas|sshfs)(?:[-_/]|$)/i;

const isNetwork = (path: string) => NETWORK.test(path);
const isTemporary = (path: string) => TEMPORARY.test(normalize(path));

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
]);
