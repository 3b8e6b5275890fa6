// Images in the store beside what `umoci unpack` makes of them, file by file; and archives as other tools write them.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import type { FoundImage } from '../../src/images/found-images.ts';
import { findStored } from '../../src/images/image-store.ts';
import { importImages } from '../../src/images/import.ts';
import { debianProgram } from '../support/hosts/debian-program.ts';
import { imageTar } from '../support/hosts/engine.ts';
import { ODD, OPAQUE, SIXTY } from '../support/hosts/odd-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { sharedEngine } from '../support/hosts/shared-engine.ts';
import { treeFacts } from '../support/hosts/tree-facts.ts';
import {
  capabilitiesBelow,
  differences,
  recordedCapabilities,
  umociLayout,
  umociUnpack,
} from '../support/hosts/umoci.ts';
import { layerRecords } from '../support/hosts/unpacker.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, NOBODY, removeHome, userOf } from '../support/servers/server.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

// Removing a distribution takes long on a busy disk.
vi.setConfig({ hookTimeout: 120_000 });
const tars = (layers: readonly TarPart[][]) => layers.map((parts) => tarArchive(...parts));

async function take(source: string, name = 'team/tool:1'): Promise<FoundImage & { root: string }> {
  const root = join(temporaryFolder(), 'store');
  const deps = {
    ...{ agent: AGENT, clock: realClock(), random: realRandom(), host: realHost(), root },
    limits: { maxBytes: 2 ** 32, maxEntries: 1_000_000 },
  };
  const [found] = await importImages(deps, { source, name, signal: new AbortController().signal });
  if (!found) throw new Error(`${source} has no image`);
  return { ...found, root };
}

/** The same by the command of an ordinary user, whom a folder of root does not concern. */
async function takeAsNobody(source: string): Promise<FoundImage & { root: string }> {
  const home = makeHome(true);
  onTestFinished(() => removeHome(home));
  const [root, copy] = [join(home, 'store'), join(home, 'layout')];
  execFileSync('cp', ['-r', source, copy]);
  execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, copy]);
  const env = { HOME: home, SVC_IMAGES_PATH: root, SVC_IMAGES_KEEP_FREE_BYTES: '0' };
  const args = ['image', 'import', copy, '--name', 'team/tool:1'];
  expect(await runCli(args, env, '', userOf({ ordinaryUser: true }))).toMatchObject({ code: 0, stderr: '' });
  const found = await findStored(root, 'team/tool:1', 0);
  if (!found) throw new Error(`${source} has no image`);
  expect(statSync(found.tree).uid).toBe(NOBODY);
  return { ...found, root };
}

/** With the records of its layers. */
const treeOf = ({ tree, root, image }: FoundImage & { root: string }) => ({
  path: tree,
  records: image.layers.map((diffId) => layerRecords(join(root, 'layers', diffId.slice(7), 'entries'))),
});

describeWith(['root', 'umoci', 'python3'], 'an image beside `umoci unpack`', () => {
  it.each<[string, number, () => Buffer[]]>([
    ['hard links, devices, capabilities, whiteouts, odd and long names', 50, () => tars(ODD)],
    ['60 layers', 60, () => tars(SIXTY)],
    ['opaque folders', 15, () => tars(OPAQUE)],
    ['opaque folders over a complete root', 280, () => [readFileSync(imageTar('busybox')), ...tars(OPAQUE)]],
  ])(
    'has the same files, modes, owners and capabilities: %s',
    async (_, least, layers) => {
      const { layout, root } = umociUnpack(layers());
      const theirs = treeFacts(root);
      expect(theirs.size).toBeGreaterThan(least);
      for (const taken of [await take(layout), await takeAsNobody(layout)]) {
        const ours = treeOf(taken);
        expect(differences(ours, theirs)).toEqual([]);
        expect(recordedCapabilities(ours.records, treeFacts(taken.tree))).toEqual(capabilitiesBelow(root));
      }
    },
    120_000,
  );

  it.each(['busybox', 'debian'] as const)(
    'has the same files of a complete root: %s',
    async (name) => {
      const { layout, root } = umociUnpack([readFileSync(imageTar(name)), ...tars(ODD)]);
      const ours = treeOf(await take(layout));
      const theirs = treeFacts(root);
      expect(differences(ours, theirs)).toEqual([]);
      expect(theirs.size).toBeGreaterThan(300);
      expect(recordedCapabilities(ours.records, treeFacts(ours.path))).toEqual(capabilitiesBelow(root));
    },
    300_000,
  );
});

describeWith(['root', 'umoci', 'skopeo'], 'an archive by another tool', () => {
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' }).trim();
  const skopeo = (from: string, to: string) => run('skopeo', 'copy', '-q', '--insecure-policy', from, to);
  /** Two layers that every tool can keep. */
  const layers = () => {
    const parts = ODD.slice(0, 2) as [TarPart[], TarPart[]];
    return tars(parts);
  };
  const shapeOf = (tree: string) =>
    [...treeFacts(tree)].map(([path, { type, mode, content, first }]) => [path, type, mode, content, first]);

  it.each<[string, string, (layout: string, folder: string) => string]>([
    ['a folder by umoci', 'oci', (layout) => layout],
    [
      'oci-archive by skopeo',
      'oci',
      (layout, folder) => {
        skopeo(`oci:${layout}:image`, `oci-archive:${folder}/oci.tar:x/y:1`);
        return join(folder, 'oci.tar');
      },
    ],
    [
      'docker-archive by skopeo',
      'docker-archive',
      (layout, folder) => {
        skopeo(`oci:${layout}:image`, `docker-archive:${folder}/docker.tar:x/y:1`);
        return join(folder, 'docker.tar');
      },
    ],
  ])('has the same tree: %s', async (_, kind, make) => {
    const archives = layers();
    const layout = umociLayout(archives);
    const found = await take(make(layout, temporaryFolder()));
    expect(found.source).toBe(kind);
    expect(found.image.layers).toHaveLength(2);
    expect(shapeOf(found.tree)).toEqual(shapeOf((await take(layout)).tree));
  });

  itWith(['buildah'], 'has the files that buildah committed, in both formats', async () => {
    const folder = temporaryFolder();
    const program = debianProgram('buildah') ?? 'buildah';
    const stores = ['--root', join(folder, 'root'), '--runroot', join(folder, 'run')];
    const policy = ['--signature-policy', join(folder, 'policy.json')];
    writeFileSync(join(folder, 'policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
    const buildah = (...args: string[]) => run(program, ...stores, '--storage-driver', 'vfs', ...args);
    mkdirSync(join(folder, 'content'));
    execFileSync('tar', ['-xpf', '-', '-C', join(folder, 'content')], {
      input: tarArchive(...(ODD[0] as TarPart[]).filter(({ type }) => !['3', '4', '6'].includes(type ?? ''))),
    });
    const container = buildah('from', ...policy, 'scratch');
    buildah('add', '-q', container, join(folder, 'content'), '/');
    for (const [kind, target] of [
      ['oci', 'oci-archive'],
      ['docker-archive', 'docker-archive'],
    ]) {
      buildah('commit', '-q', ...policy, container, `${target}:${folder}/${kind}.tar:team/tool:1`);
      const found = await take(join(folder, `${kind}.tar`));
      expect(found.source).toBe(kind);
      expect(readFileSync(join(found.tree, 'bin/tool'), 'utf8')).toBe('tool');
      expect(treeFacts(found.tree).size).toBeGreaterThan(50);
    }
  });

  itWith(['docker'], 'has the tree of what an engine saved', async () => {
    const folder = temporaryFolder();
    const layout = umociLayout(layers());
    skopeo(`oci:${layout}:image`, `docker-archive:${folder}/load.tar:team/saved:1`);
    const { socket } = await sharedEngine();
    run('docker', '-H', `unix://${socket}`, 'load', '-q', '-i', join(folder, 'load.tar'));
    run('docker', '-H', `unix://${socket}`, 'save', '-o', join(folder, 'saved.tar'), 'team/saved:1');
    run('docker', '-H', `unix://${socket}`, 'rmi', 'team/saved:1');
    const found = await take(join(folder, 'saved.tar'));
    expect(found.image.layers).toHaveLength(2);
    expect(shapeOf(found.tree)).toEqual(shapeOf((await take(layout)).tree));
  });
});
