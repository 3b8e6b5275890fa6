// Archives of images as tools write them, made of layers that a test gives: OCI layouts, what `docker save` writes, and folders.
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { tarArchive } from '../tar.ts';

export const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');
const json = (value: unknown) => Buffer.from(JSON.stringify(value));
export const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch;

export interface ImageParts {
  /** Plain tars, the lowest first. */
  layers: readonly Buffer[];
  name?: string;
  architecture?: string;
  config?: Record<string, unknown>;
  /** How layers are stored. */
  pack?: (layer: Buffer) => Buffer;
}

export const configOf = ({ layers, architecture = ARCHITECTURE, config = {} }: ImageParts) =>
  json({
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => `sha256:${sha256(layer)}`) },
  });

/** Files of an OCI layout by path. */
export function ociFiles(...images: ImageParts[]): Map<string, Buffer> {
  const files = new Map<string, Buffer>([['oci-layout', json({ imageLayoutVersion: '1.0.0' })]]);
  const put = (bytes: Buffer, mediaType: string) => {
    files.set(`blobs/sha256/${sha256(bytes)}`, bytes);
    return { mediaType, digest: `sha256:${sha256(bytes)}`, size: bytes.length };
  };
  const manifests = images.map((image) => {
    const manifest = {
      schemaVersion: 2,
      config: put(configOf(image), 'application/vnd.oci.image.config.v1+json'),
      layers: image.layers.map((layer) =>
        put((image.pack ?? gzipSync)(layer), 'application/vnd.oci.image.layer.v1.tar+gzip'),
      ),
    };
    return {
      ...put(json(manifest), 'application/vnd.oci.image.manifest.v1+json'),
      platform: { os: 'linux', architecture: image.architecture ?? ARCHITECTURE },
      ...(image.name !== undefined && { annotations: { 'io.containerd.image.name': image.name } }),
    };
  });
  files.set('index.json', json({ schemaVersion: 2, manifests }));
  return files;
}

/** Files of `docker save` before it wrote OCI layouts. */
export function dockerFiles(...images: ImageParts[]): Map<string, Buffer> {
  const files = new Map<string, Buffer>();
  const manifest = images.map((image) => {
    const config = configOf(image);
    files.set(`${sha256(config)}.json`, config);
    const paths = image.layers.map((layer) => `${sha256(layer)}/layer.tar`);
    for (const [at, path] of paths.entries()) files.set(path, image.layers[at] as Buffer);
    return {
      Config: `${sha256(config)}.json`,
      RepoTags: image.name === undefined ? null : [image.name],
      Layers: paths,
    };
  });
  files.set('manifest.json', json(manifest));
  return files;
}

export const tarOf = (files: Map<string, Buffer>) =>
  tarArchive(...[...files].map(([name, content]) => ({ name, content })));

export function writeFiles(folder: string, files: Map<string, Buffer>): string {
  for (const [name, content] of files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  return folder;
}
