// Formats of images: archives and documents of them, records of layers, and what registries and Docker write.
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ServiceError } from '../../src/domain/errors.ts';
import { openArchive } from '../../src/images/archive-images.ts';
import { configOf, indexOf, manifestOf, parseDocument, savedImages } from '../../src/images/documents.ts';
import { layerEntries } from '../../src/images/layer-entries.ts';
import { parseChallenge } from '../../src/images/registry/authorization.ts';
import { parseCredentials } from '../../src/images/registry/credentials.ts';
import { dockerFiles, ociFiles, tarOf } from '../../test/support/hosts/image-archives.ts';
import { tarArchive } from '../../test/support/tar.ts';
import type { Chance } from './chance.ts';
import { anyText, anyValue, mutated, pieces } from './hostile.ts';
import { type Read, require, type Sample } from './reading.ts';

export const IMAGE_FORMATS: Record<string, readonly [Sample, Read]> = {
  'archive of images': [savedArchive, readSavedArchive],
  'document of an image': [imageDocument, readImageDocument],
  'records of a layer': [layerRecords, sameLayerEntries],
  'challenge of a registry': [challenge, readChallenge],
  'credentials of registries': [dockerConfig, readDockerConfig],
};

function savedArchive(chance: Chance): Buffer {
  const layers = [tarArchive({ name: 'a', content: 'a' })];
  return tarOf(chance.oneIn(2) ? dockerFiles({ layers, name: 'a:1' }) : ociFiles({ layers, name: 'a:1' }));
}

async function readSavedArchive(_: Chance, bytes: Buffer): Promise<void> {
  const path = join(tmpdir(), `svc-fuzz-archive-${process.pid}.tar`);
  try {
    writeFileSync(path, bytes);
    const archive = await openArchive(path, new AbortController().signal);
    try {
      for (const { layers } of archive.images)
        for (const layer of layers) {
          const { size, bytes: content } = await layer.open();
          const { length } = await buffer(content);
          require(size === length, 'a layer of another size than it was said to have');
        }
    } finally {
      await archive.close();
    }
  } finally {
    rmSync(path, { force: true });
  }
}

function imageDocument(chance: Chance): Buffer {
  const parts = {
    layers: [Buffer.alloc(0)],
    name: 'a:1',
    config: { Env: ['A=1'], Cmd: ['b'], ExposedPorts: { '1/tcp': {} } },
  };
  const files = chance.oneIn(2) ? dockerFiles(parts) : ociFiles(parts);
  const documents = [...files.values()].filter((bytes) => /^[[{]/.test(bytes.toString('latin1', 0, 1)));
  const value: unknown = JSON.parse(`${chance.pick(documents)}`);
  return Buffer.from(JSON.stringify(chance.oneIn(3) ? value : mutated(chance, value)) ?? 'null');
}

/** Whatever kind of document a registry or an archive claims that it is. */
function readImageDocument(chance: Chance, bytes: Buffer): void {
  const value = parseDocument(bytes);
  const read = chance.pick<(document: unknown) => unknown>([indexOf, manifestOf, configOf, savedImages]);
  const digests = JSON.stringify(read(value) ?? {}).match(/"(?:digest|diffIds)":\[?"[^"]*"/g) ?? [];
  require(digests.every((text) => /sha256:[0-9a-f]{64}"$/.test(text)), 'a digest that is not one');
}

function layerRecords(chance: Chance): Buffer {
  const record = (path: string) => {
    const head = Buffer.alloc(28);
    head.writeUInt8(1 + chance.below(8), 0);
    head.writeUInt8(chance.below(4), 1);
    const text = (word: string) =>
      Buffer.concat([Buffer.from(Uint32Array.of(word.length).buffer), Buffer.from(word)]);
    return Buffer.concat([
      head,
      text(path),
      text('target'),
      Buffer.from([1, 0]),
      text('name'),
      text('value'),
    ]);
  };
  return Buffer.concat(['a', 'a/b', 'c'].slice(0, chance.below(4)).map(record));
}

/** However the bytes arrive, the entries are the same. */
async function sameLayerEntries(chance: Chance, bytes: Buffer): Promise<void> {
  const all = async (source: AsyncIterable<Buffer>) => {
    const found: string[] = [];
    for await (const { path, target, type } of layerEntries(source)) found.push(`${type} ${path} ${target}`);
    return found.join();
  };
  const failed = (error: unknown) => {
    if (error instanceof ServiceError) return 'refused';
    throw error;
  };
  const [one, other] = [
    await all(Readable.from([bytes])).catch(failed),
    await all(Readable.from(pieces(chance, bytes))).catch(failed),
  ];
  require(one === other, `entries by pieces are ${other} for ${one}`);
}

function challenge(chance: Chance): Buffer {
  const scheme = chance.pick(['Bearer', 'basic', 'Digest']);
  const part = () => `${chance.pick(['realm', 'service', 'scope', 'x'])}="${anyText(chance)}"`;
  return Buffer.from(`${scheme} ${part()}, ${part()},${part()}, Basic realm=a`);
}

function readChallenge(_: Chance, bytes: Buffer): void {
  const text = bytes.toString('latin1');
  const found = parseChallenge(text);
  if (!found) return;
  const { realm, service, scope } = found;
  require(/^(?:basic|bearer)$/.test(found.scheme), 'a scheme that nobody can answer');
  require([realm, service, scope].every((value) => text.includes(value)), 'a value that was not sent');
}

function dockerConfig(chance: Chance): Buffer {
  const value = {
    auths: {
      'ghcr.io': { auth: Buffer.from('u:p').toString('base64') },
      'https://index.docker.io/v1/': { username: anyText(chance), password: anyText(chance) },
      [anyText(chance)]: anyValue(chance),
    },
    credHelpers: { 'a.example': 'x' },
    credsStore: anyValue(chance),
  };
  return Buffer.from(JSON.stringify(chance.oneIn(2) ? value : mutated(chance, value)) ?? 'null');
}

function readDockerConfig(chance: Chance, bytes: Buffer): void {
  const file = parseCredentials(bytes.toString('utf8'));
  file.namesHelper(anyText(chance));
  const found = file.find(chance.pick(['ghcr.io', 'docker.io', anyText(chance)]), 'a/b');
  require(!found ||
    Object.values(found).every((value) => typeof value === 'string'), 'credentials that are not texts');
}
