// What the control plane offers of image stores: that of this server, and those of its workers.
import type { Readable } from 'node:stream';
import type { Image, ImageSummary } from '../../schema/image.ts';
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
} from '../../schema/image-calls.ts';
import type { Caller } from './caller.ts';

export interface ImagePage {
  images: ImageSummary[];
  next_cursor?: string;
  /** Workers that did not answer in time; their images are missing. */
  unavailable: string[];
}

/**
 * A call without `worker` is for all stores that can be reached. It succeeds when one did, and lists the failures of the others.
 * Images that were pulled with credentials exist only for callers who may use them.
 */
export interface Images {
  /** Sorted by reference, then worker. */
  list(query: ImageListQuery, caller: Caller, signal: AbortSignal): Promise<ImagePage>;
  get(query: ImageQuery, caller: Caller, signal: AbortSignal): Promise<Image>;
  /** The pulls continue when `signal` aborts. */
  pull(request: ImagePullRequest, caller: Caller, signal: AbortSignal): Promise<ImagesPulled>;
  /** Rejects for what fails at once. Undefined lines are signs of life. */
  watchPull(
    request: ImagePullRequest,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ImagePullLine | undefined>>;
  /** Into one store. Nothing is left when `signal` aborts or the archive breaks off. */
  import(
    archive: Readable,
    query: ImageImportQuery,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<ImagesStored>;
  watchImport(
    archive: Readable,
    query: ImageImportQuery,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ImageImportLine | undefined>>;
  tag(request: ImageTagRequest, caller: Caller, signal: AbortSignal): Promise<ImagesStored>;
  remove(query: ImageQuery, caller: Caller, signal: AbortSignal): Promise<ImageDeleted>;
  prune(request: ImagePruneRequest, caller: Caller, signal: AbortSignal): Promise<ImagesPruned>;
}
