// Images of the stores of the server and its workers.
import type { Readable } from 'node:stream';
import type { Image, ImageSummary } from '../schema/image.ts';
import type {
  ImageDeleted,
  ImageImportLine,
  ImageImportQuery,
  ImageListQuery,
  ImagePruneRequest,
  ImagePullLine,
  ImagePullRequest,
  ImageQuery,
  ImagesPruned,
  ImagesPulled,
  ImagesStored,
  ImageTagRequest,
} from '../schema/image-calls.ts';
import type { CallOptions, CallTerms } from './call.ts';
import { ClientPart } from './client-part.ts';
import { jsonLines } from './lines.ts';

type Archive = Uint8Array | Readable | (() => Readable | Promise<Readable>);
type In = Pick<ImageQuery, 'worker'>;

export class ImagesClient extends ClientPart {
  /** One page. */
  async page(
    query: ImageListQuery = {},
    terms: CallTerms = {},
  ): Promise<{ images: ImageSummary[]; next_cursor?: string }> {
    const [images, next] = await this.listPage<ImageSummary>('listImages', query, terms);
    return { images, ...next };
  }

  get(name: string, query: In = {}, terms: CallTerms = {}): Promise<Image> {
    return this.call('getImage', { query: { ...query, name }, ...terms });
  }

  /** Resolves when each store has the image. */
  pull(request: Omit<ImagePullRequest, 'stream'>, terms: CallTerms = {}): Promise<ImagesPulled> {
    return this.call('pullImage', { json: request, timeoutMs: 0, ...terms });
  }

  /** Yields progress; the last line has the stage `done` or `error`. */
  watchPull(request: Omit<ImagePullRequest, 'stream'>, terms: CallTerms = {}): AsyncGenerator<ImagePullLine> {
    return this.#progress('pullImage', { json: { ...request, stream: true }, timeoutMs: 0, ...terms });
  }

  /** Imports an archive of `docker save`, an OCI layout or a root file system, as a tar file. */
  import(
    archive: Archive,
    query: Omit<ImageImportQuery, 'stream'> = {},
    terms: CallTerms = {},
  ): Promise<ImagesStored> {
    return this.call('importImage', { ...archiveCall(archive), query, ...terms });
  }

  /** The same with progress, once the archive has arrived. */
  watchImport(
    archive: Archive,
    query: Omit<ImageImportQuery, 'stream'> = {},
    terms: CallTerms = {},
  ): AsyncGenerator<ImageImportLine> {
    return this.#progress('importImage', {
      ...archiveCall(archive),
      query: { ...query, stream: true },
      ...terms,
    });
  }

  tag(request: ImageTagRequest, terms: CallTerms = {}): Promise<ImagesStored> {
    return this.call('tagImage', { json: request, ...terms });
  }

  /** Rejects with `conflict` while a sandbox runs on it. */
  delete(name: string, query: In = {}, terms: CallTerms = {}): Promise<ImageDeleted> {
    return this.call('deleteImage', { query: { ...query, name }, ...terms });
  }

  prune(request: ImagePruneRequest = {}, terms: CallTerms = {}): Promise<ImagesPruned> {
    return this.call('pruneImages', { json: request, ...terms });
  }

  async *#progress<T>(id: 'pullImage' | 'importImage', options: CallOptions): AsyncGenerator<T> {
    yield* jsonLines<T>(await this.send(id, options), options.signal);
  }
}

const archiveCall = (bytes: Archive): CallOptions => ({
  bytes,
  headers: { 'content-type': 'application/x-tar' },
  timeoutMs: 0,
});
