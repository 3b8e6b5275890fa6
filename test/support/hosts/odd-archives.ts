// Layers whose contents are easily lost, and an image of many layers.
import { pax, type TarPart } from '../tar.ts';

const CAPABILITY = '\x01\0\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0';
const DEEP = `${'a-rather-long-name/'.repeat(15)}file`;
const WIDE = 'x'.repeat(255);

/** What of an archive is easily lost. */
export const ODD: TarPart[][] = [
  [
    { name: 'etc/', type: '5' },
    { name: 'bin/', type: '5' },
    { name: 'dev/', type: '5' },
    { name: 'dev/null', type: '3', mode: 0o666 },
    { name: 'nodes/', type: '5' },
    { name: 'nodes/disk', type: '4', mode: 0o660, gid: 6 },
    { name: 'nodes/pipe', type: '6', mode: 0o600, uid: 7 },
    pax({ 'SCHILY.xattr.security.capability': CAPABILITY }),
    { name: 'bin/ping', content: 'ping', mode: 0o755 },
    { name: 'bin/su', content: 'su', mode: 0o4755 },
    { name: 'bin/wall', content: 'wall', mode: 0o2755, gid: 5 },
    { name: 'bin/tool', content: 'tool', mode: 0o755, mtime: 1_000_000_000 },
    { name: 'bin/same', type: '1', link: 'bin/tool', mode: 0o755, mtime: 1_000_000_000 },
    { name: 'bin/link', type: '2', link: 'tool', mode: 0o777, uid: 3, gid: 4 },
    { name: 'bin/dangling', type: '2', link: '/no/such/file', mode: 0o777 },
    { name: 'bin/hard-link', type: '1', link: 'bin/link', mode: 0o777, uid: 3, gid: 4 },
    { name: 'lib', type: '2', link: 'usr/lib', mode: 0o777 },
    { name: 'usr/lib/', type: '5' },
    { name: 'lib/through', content: 'through a link' },
    { name: 'key', content: 'private', mode: 0o600, uid: 1000, gid: 1000 },
    { name: 'none', content: 'no rights', mode: 0 },
    { name: 'closed/', type: '5', mode: 0o700, uid: 33, gid: 33 },
    { name: 'closed/in', content: 'in', mode: 0o400 },
    { name: 'tmp/', type: '5', mode: 0o1777 },
    pax({ mtime: '1600000000.987654321' }),
    { name: 'time', content: 'x' },
    pax({ mtime: '-1.5' }),
    { name: 'early', content: 'x' },
    pax({ uid: '2000000000', gid: '2000000001' }),
    { name: 'far', content: 'x' },
    { name: 'odd/', type: '5' },
    { name: 'odd/ space\t"\\\'\n', content: 'odd' },
    { name: 'odd/-rf', content: 'odd' },
    { name: Buffer.from('odd/\xff\xfe', 'latin1'), content: 'not UTF-8' },
    { name: 'odd/été 雪', content: 'UTF-8' },
    { name: 'odd/Case', content: '1' },
    { name: 'odd/case', content: '2' },
    { name: '././@LongLink', type: 'L', content: `${DEEP}\0` },
    { name: 'short', content: 'GNU' },
    pax({ path: `wide/${WIDE}` }),
    { name: 'short', content: 'pax' },
    pax({ linkpath: DEEP }),
    { name: 'to-deep', type: '2', mode: 0o777 },
    { name: 'gone', content: 'x' },
    { name: 'emptied/', type: '5' },
    { name: 'emptied/old', content: 'x' },
    { name: 'swap/', type: '5' },
    { name: 'swap/in', content: 'x' },
    { name: 'back', content: 'x' },
    { name: 'kept', content: 'x' },
    { name: 'also', type: '1', link: 'kept' },
  ],
  [
    { name: '.wh.gone' },
    { name: 'emptied/', type: '5', mode: 0o711, uid: 9 },
    { name: 'emptied/new', content: 'new' },
    { name: 'emptied/.wh..wh..opq' },
    { name: 'swap', content: 'a file over a folder' },
    { name: '.wh.back' },
    { name: 'bin/', type: '5', mode: 0o750 },
    { name: 'bin/tool', content: 'replaced', mode: 0o700 },
    { name: '.wh.kept' },
  ],
  [
    { name: 'back/', type: '5' },
    { name: 'back/in', content: 'a folder over what was removed' },
  ],
];

/** Each layer adds, replaces, links and removes. */
export const SIXTY: TarPart[][] = Array.from({ length: 60 }, (_, n): TarPart[] => [
  { name: 'same', content: `${n}`, mtime: n },
  { name: `n/${n % 7}/`, type: '5', mode: 0o700 + n, uid: n },
  { name: `n/${n % 7}/file${n}`, content: `content ${n}`, mode: 0o600 + n, gid: n },
  { name: `n/${n % 7}/link${n}`, type: '1', link: `n/${n % 7}/file${n}`, mode: 0o600 + n, gid: n },
  ...(n % 3 === 2 ? [{ name: `n/${(n - 2) % 7}/.wh.file${n - 2}` }] : []),
  ...(n % 10 === 9 ? [{ name: `n/${n % 7}/.wh..wh..opq` }] : []),
]);
