// A registry on loopback over plain HTTP, made of the files of OCI layouts. A test can hold back its layers, and count requests.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface PlainRegistry {
  /** For images.registries, and in names of images. */
  host: string;
  /** Paths that were asked for, with the method. */
  requests: string[];
  /** Puts the only image of `files` under `repository:tag`. */
  put(repository: string, tag: string, files: Map<string, Buffer>): void;
  /** Blobs are answered from now on only after `release`. */
  hold(): void;
  release(): void;
  close(): Promise<void>;
}

interface Described {
  digest: string;
  mediaType: string;
}

export async function plainRegistry(): Promise<PlainRegistry> {
  const tags = new Map<string, Described>();
  const blobs = new Map<string, { bytes: Buffer; type: string }>();
  const requests: string[] = [];
  let gate = Promise.resolve();
  let open = () => {};
  const server = createServer(async (asked, response) => {
    requests.push(`${asked.method} ${asked.url}`);
    const [, path = '', kind, name = ''] =
      /^\/v2\/(.+)\/(manifests|blobs)\/(.+)$/.exec(asked.url ?? '') ?? [];
    if (asked.url === '/v2/') return void response.end('{}');
    if (kind === 'blobs') await gate;
    const digest = tags.get(`${path}:${name}`)?.digest ?? name;
    const found = blobs.get(digest);
    if (!found) return void response.writeHead(404).end('{}');
    response.writeHead(200, {
      'content-type': found.type,
      'content-length': found.bytes.length,
      'docker-content-digest': digest,
    });
    response.end(asked.method === 'HEAD' ? undefined : found.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    open();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    put(repository, tag, files) {
      const index = JSON.parse(`${files.get('index.json')}`) as { manifests: [Described] };
      const [manifest] = index.manifests;
      for (const [path, bytes] of files) {
        const digest = `sha256:${path.slice('blobs/sha256/'.length)}`;
        const type = digest === manifest.digest ? manifest.mediaType : 'application/octet-stream';
        blobs.set(digest, { bytes, type });
      }
      tags.set(`${repository}:${tag}`, manifest);
    },
    hold() {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    release: () => open(),
    close,
  };
}

/** One that ends with the test. */
export async function plainRegistryOfTest(): Promise<PlainRegistry> {
  const registry = await plainRegistry();
  onTestFinished(() => registry.close());
  return registry;
}
