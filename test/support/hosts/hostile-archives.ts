// Archives that try what other unpackers fell for.
import { pax, type TarPart } from '../tar.ts';

const UP = '../'.repeat(12);
/** Twice as long it is nearly the longest. */
const LONG = `${'x'.repeat(250)}/`.repeat(8).slice(0, -1);

/** Each must be refused. `beside` is a folder outside, which has a file `sentinel`. */
export const HOSTILE_ARCHIVES: [string, (beside: string) => TarPart[]][] = [
  ['a path with ..', () => [{ name: '../beside/sentinel', content: 'evil' }]],
  ['a path with .. in the middle', () => [{ name: 'a/../../beside/sentinel', content: 'evil' }]],
  [
    'a hard link to a file outside',
    (beside) => [
      { name: 'h', type: '1', link: `${beside}/sentinel` },
      { name: 'h', content: 'evil' },
    ],
  ],
  ['a hard link with ..', () => [{ name: 'h', type: '1', link: `${UP}etc/passwd` }]],
  ['a hard link to nothing', () => [{ name: 'h', type: '1', link: 'missing' }]],
  [
    'a hard link to a folder',
    () => [
      { name: 'd', type: '5' },
      { name: 'h', type: '1', link: 'd' },
    ],
  ],
  ['a root that is a link', (beside) => [{ name: './', type: '2', link: beside }]],
  ['a root that is a file', () => [{ name: '.', content: 'x' }]],
  ['an empty link', () => [{ name: 'l', type: '2', link: '' }]],
  [
    'links in a circle',
    () => [
      { name: 'a', type: '2', link: 'b' },
      { name: 'b', type: '2', link: 'a' },
      { name: 'a/x', content: 'x' },
    ],
  ],
  [
    'a file below a file',
    () => [
      { name: 'a', content: 'a' },
      { name: 'a/x', content: 'x' },
    ],
  ],
  ['a whiteout of a whiteout', () => [{ name: '.wh..wh.x' }]],
  ['a whiteout of nothing', () => [{ name: 'd/.wh.' }]],
  ['a whiteout of ..', () => [{ name: 'd/.wh...' }]],
  ['a folder with a name of whiteouts', () => [{ name: '.wh.d/x', content: 'x' }]],
  ['a sparse file of GNU', () => [{ name: 's', type: 'S', content: 'x' }]],
  ['a sparse file of pax', () => [pax({ 'GNU.sparse.major': '1' }), { name: 's', content: 'x' }]],
  ['a size beyond 63 bits', () => [pax({ size: '99999999999999999999' }), { name: 's' }]],
  ['an owner beyond 32 bits', () => [pax({ uid: '4294967296' }), { name: 's' }]],
  ['an unknown type', () => [{ name: 'm', type: 'M', content: 'x' }]],
  ['a path that is too long', () => [pax({ path: 'd/'.repeat(2100) }), { name: 's' }]],
  ['a name that is too long', () => [pax({ path: 'x'.repeat(256) }), { name: 's' }]],
  ['folders that lie too deep', () => [pax({ path: 'd/'.repeat(300) }), { name: 's', type: '5' }]],
  [
    'a path that is too long through links',
    () => [
      pax({ path: LONG }),
      { name: 's', type: '5' },
      pax({ linkpath: LONG }),
      { name: 'l', type: '2' },
      pax({ path: `l/${LONG}` }),
      { name: 's', type: '5' },
      pax({ linkpath: `l/${LONG}` }),
      { name: 'm', type: '2' },
      { name: `m/${'x'.repeat(90)}`, type: '2', link: 'y' },
    ],
  ],
  ['a negative size', () => [{ name: 's', size: -1 }]],
  ['a NUL in a path', () => [pax({ path: 'a\0b' }), { name: 's' }]],
  ['a pax header without an entry', () => [{ name: 'a' }, pax({ path: 'b' })]],
  [
    'too many attributes',
    () => [
      pax(Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`SCHILY.xattr.user.a${i}`, 'x']))),
      { name: 's' },
    ],
  ],
];

/** Each is unpacked below its root, or refused. */
export const LEADING_OUT: [string, (beside: string) => TarPart[]][] = [
  [
    'a file through an absolute link',
    (beside) => [
      { name: 'out', type: '2', link: beside },
      { name: 'out/sentinel', content: 'evil' },
    ],
  ],
  [
    'a file through a relative link',
    (beside) => [
      { name: 'out', type: '2', link: `${UP}${beside.slice(1)}` },
      { name: 'out/sentinel', content: 'evil' },
    ],
  ],
  [
    'a file over a link to a file',
    (beside) => [
      { name: 'f', type: '2', link: `${beside}/sentinel` },
      { name: 'f', content: 'evil', mode: 0o666 },
    ],
  ],
  [
    'a folder over a link to a folder',
    (beside) => [
      { name: 'd', type: '2', link: beside },
      { name: 'd', type: '5', mode: 0o777 },
    ],
  ],
  [
    'a hard link to a link',
    (beside) => [
      { name: 'l', type: '2', link: `${beside}/sentinel` },
      { name: 'h', type: '1', link: 'l' },
      { name: 'h', content: 'evil' },
    ],
  ],
  [
    'a link from a link',
    (beside) => [
      { name: 'a', type: '2', link: 'b' },
      { name: 'b', type: '2', link: beside },
      { name: 'a/sentinel', content: 'evil' },
    ],
  ],
  [
    'paths that differ in slashes, dots and case',
    (beside) => [
      { name: 'A', type: '5' },
      { name: 'a', type: '2', link: beside },
      { name: './/a/./sentinel', content: 'evil' },
      { name: 'A/../a/sentinel', content: 'evil' },
    ],
  ],
  [
    'whiteouts through a link',
    (beside) => [
      { name: 'out', type: '2', link: beside },
      { name: 'out/.wh.sentinel' },
      { name: 'out/.wh..wh..opq' },
    ],
  ],
];
