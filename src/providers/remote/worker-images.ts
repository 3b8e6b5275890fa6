// The image store of a worker, by calls. Its messages go to the log; clients get ours.
import type { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { type JsonLineFormat, jsonLines } from '../../domain/json-lines.ts';
import type { ImageWatch, MachineImages } from '../../domain/machine-images.ts';
import { reservedName } from '../../domain/machine-images.ts';
import { withTimeout } from '../../domain/timeout.ts';
import type { ErrorCode } from '../../schema/error.ts';
import type { Image } from '../../schema/image.ts';
import { type Validator, validator } from '../../schema/validator.ts';
import {
  type IMAGE_METHODS,
  type RpcImageFailure,
  RpcListedImages,
  RpcOneImage,
  RpcPrunedImages,
  RpcPulledImage,
  RpcRemovedImage,
  WorkerImportLine,
} from '../../schema/worker-images.ts';
import { invalidReply } from '../outgoing/faults.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';
import type { RemoteWorker } from '../provider.ts';
import { type CallDeps, callHeaders, refused, type WorkerCall } from './call.ts';

/** A configuration may have 4 MiB, and a page of a list 100 images. */
const MAX_BYTES = 8 * 1024 * 1024;
const STRUCTURE = { depth: 16, tokens: 500_000 };
/** How long a call waits for a pull: shorter where somebody watches. */
const WAIT_MS = 15_000;
const WATCHED_MS = 500;
/** A worker's own limit is images.pull_timeout. */
const LONGEST_PULL_MS = 4 * 3_600_000;
/** A worker that imports sends a line every 10 s. */
const IDLE_MS = 60_000;

const LISTED = validator(RpcListedImages, 'result');
const ONE = validator(RpcOneImage, 'result');
const PULLED = validator(RpcPulledImage, 'result');
const REMOVED = validator(RpcRemovedImage, 'result');
const PRUNED = validator(RpcPrunedImages, 'result');
const LINE = validator(WorkerImportLine, 'line');

export interface WorkerImagesDeps extends CallDeps {
  target: { worker: RemoteWorker; outgoing: Outgoing };
  call<T>(call: WorkerCall): Promise<T>;
}

type Failed = { failed?: RpcImageFailure };

export function workerImages(deps: WorkerImagesDeps): MachineImages {
  const { target, clock, ids } = deps;
  const worker_id = target.worker.id;
  const ask = async <T>(
    method: (typeof IMAGE_METHODS)[number],
    { params, fault, image = '', signal }: Ask,
  ): Promise<T> => {
    const result = await deps.call<T & Failed>({ method, params, fault, maxBytes: MAX_BYTES, signal });
    if (result.failed) throw failureOf(worker_id, image, result.failed);
    return result;
  };
  return {
    list: async (order, signal) => {
      const params = { ...order };
      const { images } = await ask<RpcListedImages>('worker.list_images', { params, fault: LISTED, signal });
      return (images ?? []).slice(0, order.limit);
    },
    get: async (name, { private_images }, signal) => {
      const params = { name, private_images };
      return one(await ask('worker.get_image', { params, fault: ONE, image: name, signal }), worker_id);
    },
    pull: (order, { signal, onProgress }) => {
      const error = () => new ServiceError('timeout', `Worker ${worker_id} did not finish the pull in time.`);
      const params = { pull_id: ids.uuid(), wait_ms: onProgress ? WATCHED_MS : WAIT_MS, ...order };
      return withTimeout({ clock, ms: LONGEST_PULL_MS, error, signal }, async (inTime) => {
        for (;;) {
          const asked = { params, fault: PULLED, image: order.image, signal: inTime };
          const { image, progress = [] } = await ask<RpcPulledImage>('worker.pull_image', asked);
          for (const event of progress) onProgress?.(event);
          if (image) return image;
        }
      });
    },
    import: (archive, { name = '', private_images }, watch) =>
      importThere(deps, archive, { name, private_images: String(private_images) }, watch),
    tag: async (name, other, { private_images }, signal) => {
      const params = { name, other, private_images };
      return one(await ask('worker.tag_image', { params, fault: ONE, image: name, signal }), worker_id);
    },
    remove: async (name, { private_images }, signal) => {
      const asked = { params: { name, private_images }, fault: REMOVED, image: name, signal };
      const { removed } = await ask<RpcRemovedImage>('worker.remove_image', asked);
      return removed ?? missing(worker_id);
    },
    prune: async ({ unusedForMs, dryRun, private_images }, signal) => {
      const params = { unused_for_ms: unusedForMs, dry_run: dryRun, private_images };
      const { pruned } = await ask<RpcPrunedImages>('worker.prune_images', { params, fault: PRUNED, signal });
      return pruned ?? missing(worker_id);
    },
  };
}

interface Ask {
  params: Record<string, unknown>;
  fault: Validator;
  /** For the words of a failure. */
  image?: string;
  signal: AbortSignal;
}

const one = ({ image }: RpcOneImage, worker_id: string): Image => image ?? missing(worker_id);

function missing(worker_id: string): never {
  throw invalidReply(`Worker ${worker_id}`, 'sent an invalid response');
}

async function importThere(
  { target: { worker, outgoing }, ...deps }: WorkerImagesDeps,
  archive: Readable,
  query: Record<string, string>,
  { signal, onProgress }: ImageWatch,
): Promise<Image[]> {
  const reply = await outgoing.request({
    method: 'POST',
    path: '/images/import',
    query,
    headers: { ...callHeaders(deps, worker), 'content-type': 'application/octet-stream' },
    body: archive,
    signal,
    withinMs: 0,
    idleMs: IDLE_MS,
    maxBytes: MAX_BYTES * 8,
  });
  if (reply.status !== 200) {
    await reply.discard();
    throw refused(worker.id, reply.status === 501 ? 'not_implemented' : 'unauthorized', `${reply.status}`);
  }
  for await (const line of jsonLines(reply.body(), formatOf(worker.id))) {
    if (line.failed) throw failureOf(worker.id, query.name ?? '', line.failed);
    if (line.progress) onProgress?.(line.progress);
    if (line.images) return line.images;
  }
  throw new ServiceError('unavailable', `Worker ${worker.id} did not finish the import.`);
}

function formatOf(worker_id: string): JsonLineFormat<WorkerImportLine> {
  const invalid = () => invalidReply(`Worker ${worker_id}`, 'sent an invalid response');
  return {
    bytes: MAX_BYTES,
    structure: STRUCTURE,
    tooLong: invalid,
    invalid,
    read: (value) => {
      if (LINE(value) !== undefined) throw invalid();
      return value as WorkerImportLine;
    },
  };
}

/** Codes that a store may answer with, in our words after "Worker <id>". */
const SAYS: Partial<Record<ErrorCode, string>> = {
  bad_request: 'does not accept the archive or the name of the image',
  resource_limit: 'has no room for the image, or another limit is reached',
  unavailable: 'cannot do this now',
  timeout: 'did not finish in time',
  provider_error: 'could not do this: the image or its store is damaged',
};

function failureOf(worker_id: string, image: string, failed: RpcImageFailure): ServiceError {
  const { code, message, sandboxes, retry_after_ms } = failed;
  const facts = {
    cause: new Error(message),
    details: { worker_id, ...(sandboxes !== undefined && { sandboxes }) },
    remedy: `Check images.registries and the log of worker ${worker_id}.`,
    ...(retry_after_ms !== undefined && { retryAfterMs: retry_after_ms }),
  };
  const on = `on worker ${worker_id}`;
  if (code === 'not_found') return new ServiceError(code, `No image ${image} found ${on}.`, facts);
  if (code === 'conflict')
    return new ServiceError(
      code,
      `The image ${image} cannot be removed: ${sandboxes ?? 0} sandboxes run on it ${on}.`,
      {
        ...facts,
        remedy: 'Destroy the sandboxes that use it.',
      },
    );
  if (code === 'forbidden')
    return message === reservedName().message
      ? reservedName()
      : new ServiceError(code, `Worker ${worker_id} may not pull image ${image}.`, facts);
  const says = SAYS[code];
  if (says === undefined) return new ServiceError('provider_error', `Worker ${worker_id} failed.`, facts);
  return new ServiceError(code, `Worker ${worker_id} ${says}.`, facts);
}
