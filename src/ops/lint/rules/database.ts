// Rules about where state is kept. A path is judged by its shape alone: lint looks at no file system but for the file.
import { isAbsolute, normalize } from 'node:path';
import { findingIf, type LintRule } from '../rule.ts';

const TEMPORARY = /^\/(?:tmp|var\/tmp|dev\/shm|run|var\/run)(?:\/|$)/;
const NETWORK =
  /^(?:\/\/|\\\\|[a-z][a-z0-9+.-]*:\/\/)|^\/(?:net|nfs|afs|cifs|smb|Volumes)\/|^\/(?:mnt|media|srv|data|export)\/(?:[^/]*[-_])?(?:nfs\d?|efs|cifs|smb|samba|gluster(?:fs)?|ceph(?:fs)?|lustre|nas|sshfs)(?:[-_/]|$)/i;

const isNetwork = (path: string) => NETWORK.test(path);
const isTemporary = (path: string) => TEMPORARY.test(normalize(path));

export const DATABASE_RULES: readonly LintRule[] = [
  {
    id: 'SVC401',
    topic: 'database',
    key: 'database.path',
    title: 'The path of the database is relative.',
    why: 'It counts from the folder that the service happens to be started in. Started from another one, it begins with an empty database, and the sandboxes of the old one are forgotten.',
    remedy: 'Write the whole path, such as /var/lib/svc/svc.db.',
    example: 'database:\n  path: /var/lib/svc/svc.db\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database } }) => findingIf(!isAbsolute(database.path) && !isNetwork(database.path)),
  },
  {
    id: 'SVC402',
    topic: 'database',
    key: 'database.path',
    title: 'The database is in a folder for temporary files.',
    why: 'Such folders are emptied at a start of the machine or by age: records, quotas, templates and the audit go with them.',
    remedy: 'Put it into a folder that stays, such as /var/lib/svc.',
    example: 'database:\n  path: /var/lib/svc/svc.db\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database } }) => findingIf(isTemporary(database.path) && !isNetwork(database.path)),
  },
  {
    id: 'SVC403',
    topic: 'database',
    key: 'database.path',
    title: 'The database seems to be on a network file system.',
    why: 'Locks of such file systems fail quietly, and the shared memory of the write-ahead log does not work over them: two servers can write at once, and the file is damaged.',
    remedy: 'Put it on a disk of this machine, and copy it elsewhere as a backup.',
    example: 'database:\n  path: /var/lib/svc/svc.db\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { database } }) => findingIf(isNetwork(database.path)),
  },
  {
    id: 'SVC404',
    topic: 'database',
    key: 'database.synchronous',
    title: 'The last commits may be lost to a power cut.',
    why: 'A sandbox that was started or ended just before is then remembered wrongly until it is found by its runtime.',
    remedy: 'Set database.synchronous to full.',
    example: 'database:\n  synchronous: full\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { database } }) => findingIf(database.synchronous !== 'full'),
  },
];
