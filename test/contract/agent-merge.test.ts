// `svc-agent unpack --merge`: what layers mean on top of each other, by example, by random trees, and beside `umoci unpack`.
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { imageTar } from '../support/hosts/engine.ts';
import { mergeLayers, OWN_PATHS } from '../support/hosts/merger.ts';
import { treeFacts } from '../support/hosts/tree-facts.ts';
import { differences, umociUnpack } from '../support/hosts/umoci.ts';
import { UNPACK_USERS, type UnpackUser } from '../support/hosts/unpacker.ts';
import { describeWith } from '../support/requires.ts';
import { pax, type TarPart, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const seed = Number(process.env.SVC_TEST_SEED ?? 20_261);

/** Paths of a tree with a file's content or a link's target; folders end with a slash. Its own paths are left out. */
function shape(tree: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [path, { type }] of treeFacts(tree)) {
    if (OWN_PATHS.includes(path)) continue;
    if (type === 'folder') found[`${path}/`] = '';
    else if (type === 'link') found[path] = `-> ${readlinkSync(join(tree, path))}`;
    else found[path] = readFileSync(join(tree, path), 'utf8');
  }
  return found;
}

describe.each(UNPACK_USERS)('svc-agent unpack --merge by $by', (user) => {
  const merged = async (...layers: TarPart[][]) => {
    const tree = await mergeLayers(
      user,
      layers.map((parts) => tarArchive(...parts)),
    );
    expect(tree.unpacker.outside()).toEqual([]);
    return tree;
  };
  const shapeOf = async (...layers: TarPart[][]) => shape((await merged(...layers)).path);

  it('links the files of layers, and lets the higher one win', async () => {
    const { path, unpacker } = await merged(
      [
        { name: 'a/one', content: '1' },
        { name: 'a/two', content: '2' },
      ],
      [
        { name: 'a', type: '5', mode: 0o700 },
        { name: 'a/two', content: 'new' },
      ],
    );
    expect(shape(path)).toEqual({ 'a/': '', 'a/one': '1', 'a/two': 'new' });
    expect(lstatSync(join(path, 'a')).mode & 0o777).toBe(0o700);
    const inode = (...names: string[]) => lstatSync(join(unpacker.target, ...names)).ino;
    expect(inode('tree/a/one')).toBe(inode('layer0/fs/a/one'));
    expect(readFileSync(join(unpacker.target, 'layer0/fs/a/two'), 'utf8')).toBe('2');
  });

  it('removes whiteouts and the content of opaque folders from lower layers alone', async () => {
    const lower = [
      { name: 'etc/a', content: 'a' },
      { name: 'etc/b/c', content: 'c' },
      { name: 'var/old', content: 'old' },
      { name: 'var/deep/old', content: 'old' },
    ];
    const upper = [
      { name: 'etc/b', content: 'b' },
      { name: 'etc/.wh.a' },
      { name: 'etc/.wh.b' },
      { name: 'var/new', content: 'new' },
      { name: 'var/.wh..wh..opq' },
      { name: 'none/.wh.x' },
    ];
    const expected = { 'etc/b': 'b', 'var/': '', 'var/new': 'new', 'none/': '' };
    expect(await shapeOf(lower, upper)).toEqual(expected);
    expect(await shapeOf(lower, upper.toReversed())).toEqual(expected);
    expect(await shapeOf(lower, [{ name: '.wh..wh..opq' }, { name: 'x', content: 'x' }])).toEqual({ x: 'x' });
  });

  it('puts files, folders and links over each other', async () => {
    const lower = [
      { name: 'file', content: 'x' },
      { name: 'folder/in', content: 'x' },
      { name: 'link', type: '2', link: 'folder' },
      { name: 'other', type: '2', link: '/folder' },
    ];
    const upper = [
      { name: 'file/', type: '5' },
      { name: 'folder', content: 'file' },
      { name: 'link/', type: '5' },
      { name: 'link/own', content: 'own' },
      { name: 'other', content: 'no link' },
    ];
    expect(await shapeOf(lower, upper)).toEqual({
      ...{ 'file/': '', folder: 'file' },
      ...{ 'link/': '', 'link/own': 'own', other: 'no link' },
    });
  });

  it('follows a link for a folder that no entry names, but never out of the tree', async () => {
    const beside = '../'.repeat(9);
    const tree = await merged(
      [
        { name: 'usr/lib/a', content: 'a' },
        { name: 'lib', type: '2', link: 'usr/lib' },
        { name: 'out', type: '2', link: `${beside}layer0` },
        { name: 'layer0/x', content: 'x' },
      ],
      [
        { name: 'lib/b', content: 'b' },
        { name: 'lib/.wh.a' },
        { name: 'out/y', content: 'y' },
        { name: 'out/.wh.x' },
      ],
    );
    expect(shape(tree.path)).toEqual({
      ...{ 'usr/': '', 'usr/lib/': '', 'usr/lib/b': 'b', lib: '-> usr/lib' },
      ...{ 'layer0/': '', 'layer0/y': 'y', out: `-> ${beside}layer0` },
    });
    expect(readdirSync(join(tree.unpacker.target, 'layer0')).sort()).toEqual(['entries', 'fs']);
  });

  it('keeps a hard link whose first name a higher layer removes', async () => {
    const names = [
      { name: 'one', content: 'same' },
      { name: 'two', type: '1', link: 'one' },
    ];
    expect(await shapeOf(names, [{ name: '.wh.one' }])).toEqual({ two: 'same' });
  });

  it('hides what a device of a higher layer replaces', async () => {
    expect(await shapeOf([{ name: 'a', content: 'x' }], [{ name: 'a', type: '3' }])).toEqual({});
  });

  it('has mount points and files of its own, and writes into no layer', async () => {
    const { path, unpacker } = await merged([
      { name: 'tmp', type: '2', link: '../../outside' },
      { name: 'run', content: 'a file' },
      { name: 'etc/hosts', content: 'of the image' },
      { name: 'etc/resolv.conf', type: '2', link: '/run/resolv.conf' },
    ]);
    const kinds = OWN_PATHS.map((name) => (lstatSync(join(path, name)).isDirectory() ? 'folder' : 'file'));
    expect(kinds).toEqual([...Array(8).fill('folder'), 'file', 'file', 'file']);
    expect(readFileSync(join(path, 'etc/hosts'), 'utf8')).toBe('127.0.0.1 localhost\n::1 localhost\n');
    expect(readFileSync(join(unpacker.target, 'layer0/fs/etc/hosts'), 'utf8')).toBe('of the image');
  });

  it('makes the tree that the layers were made from, whatever it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(trees, { minLength: 2, maxLength: 4 }), async (history) => {
        const layers = history.map((tree, at) => difference(history[at - 1] ?? {}, tree));
        expect(await shapeOf(...layers)).toEqual(slashed(history.at(-1) ?? {}));
      }),
      { seed, numRuns: 25 },
    );
  }, 120_000);
});

/** A path leads to the content of a file, to the target of a link, or to a folder. Names are few, so that trees meet. */
type Node = { file: string } | { link: string } | Tree;
type Tree = { [name: string]: Node };

const { tree: trees } = fc.letrec<{ tree: Tree; node: Node }>((tie) => ({
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('node'), { maxKeys: 4 }),
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ file: fc.constantFrom('1', '2', '3') }),
    fc.record({ link: fc.constantFrom('a', '/b', '../c', 'b/c') }),
    tie('tree'),
  ),
}));

const isFile = (node: Node): node is { file: string } => 'file' in node;
const isLink = (node: Node): node is { link: string } => 'link' in node;
const isTree = (node: Node | undefined): node is Tree => node !== undefined && !isFile(node) && !isLink(node);

function slashed(tree: Tree, path = ''): Record<string, string> {
  return Object.entries(tree).reduce<Record<string, string>>((all, [name, node]) => {
    if (isFile(node)) return Object.assign(all, { [path + name]: node.file });
    if (isLink(node)) return Object.assign(all, { [path + name]: `-> ${node.link}` });
    return Object.assign(all, { [`${path}${name}/`]: '' }, slashed(node, `${path}${name}/`));
  }, {});
}

/** A layer that makes the second of the first, as overlays of engines do it. */
function difference(before: Tree, after: Tree, path = ''): TarPart[] {
  const removed = Object.keys(before).filter((name) => !(name in after));
  return [
    ...removed.map((name) => ({ name: `${path}.wh.${name}` })),
    ...Object.entries(after).flatMap(([name, node]): TarPart[] => {
      const at = path + name;
      const old = before[name];
      if (JSON.stringify(old) === JSON.stringify(node)) return [];
      if (isFile(node)) return [{ name: at, content: node.file }];
      if (isLink(node)) return [{ name: at, type: '2', link: node.link }];
      return [{ name: `${at}/`, type: '5' }, ...folderDifference(old, node, `${at}/`)];
    }),
  ];
}

/** Every second way of replacing content is an opaque folder. */
function folderDifference(before: Node | undefined, after: Tree, path: string): TarPart[] {
  const isOpaque = isTree(before) && Object.keys(before).length % 2 === 1;
  if (isOpaque) return [...difference({}, after, path), { name: `${path}.wh..wh..opq` }];
  return difference(isTree(before) ? before : {}, after, path);
}

const [first] = UNPACK_USERS as [UnpackUser];

describeWith(['root', 'umoci', 'docker'], 'a tree beside `umoci unpack` of the same layers', () => {
  const upper: TarPart[] = [
    { name: 'usr/share/.wh.perl5' },
    { name: 'etc/', type: '5', mode: 0o755 },
    { name: 'etc/apt/', type: '5', mode: 0o750, uid: 7, gid: 8 },
    { name: 'etc/apt/.wh..wh..opq' },
    { name: 'etc/apt/own', content: 'own', mode: 0o640, uid: 12, gid: 34, mtime: 1_000_000_000 },
    { name: 'bin/through-a-link', content: 'x', mode: 0o755 },
    { name: 'odd/', type: '5', mode: 0o700 },
    { name: Buffer.from('odd/\xff\xfe name\t"', 'latin1'), content: 'odd' },
    { name: 'odd/hard', type: '1', link: 'odd/\xff\xfe name\t"' },
    { name: 'su', content: 'x', mode: 0o6755 },
    pax({ mtime: '1600000000.987654321' }),
    { name: 'time', content: 'x' },
  ];

  it.each([
    ['busybox', () => [imageTar('busybox')]],
    ['Debian, with a layer of whiteouts, opaque folders and odd names', () => [partOfDebian(), upper]],
  ] as const)(
    'has the same paths, modes, owners, targets and content: %s',
    async (_, layers) => {
      const archives = layers().map((layer) =>
        typeof layer === 'string' ? readFileSync(layer) : tarArchive(...layer),
      );
      const ours = await mergeLayers(first, archives);
      const theirs = treeFacts(umociUnpack(archives).root);
      expect(differences(ours, theirs)).toEqual([]);
      expect(theirs.size).toBeGreaterThan(250);
    },
    240_000,
  );
});

/** Without its largest folders, which umoci takes minutes for. */
function partOfDebian(): string {
  const folder = temporaryFolder();
  const tar = (...args: string[]) => execFileSync('tar', ['--numeric-owner', ...args]);
  mkdirSync(join(folder, 'root'));
  const left = ['gcc', '*-linux-gnu/*', 'python3*'].map((name) => `--exclude=./usr/lib/${name}`);
  tar(
    '-xpf',
    imageTar('debian'),
    '-C',
    join(folder, 'root'),
    ...left,
    '--exclude=./usr/include',
    '--exclude=./usr/bin/*-*',
  );
  tar('-cf', join(folder, 'part.tar'), '-C', join(folder, 'root'), '.');
  return join(folder, 'part.tar');
}
