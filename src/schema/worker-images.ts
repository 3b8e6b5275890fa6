// What the control plane asks of the image store of a worker: calls of `POST /rpc`, and `POST /images/import` with the archive as
// its body. Failures are results, because the codes of a call are about the call.
import { type Static, Type } from 'typebox';
import { ERROR_CODES } from './error.ts';
import { Image, ImageSummary } from './image.ts';
import { ImageProgress, PulledImage } from './image-calls.ts';

export const IMAGE_METHODS = [
  'worker.list_images',
  'worker.get_image',
  'worker.pull_image',
  'worker.tag_image',
  'worker.remove_image',
  'worker.prune_images',
] as const;

/** The most images in a page. */
export const MOST_LISTED = 100;
const name = Type.String({ minLength: 1, maxLength: 256 });
const private_images = Type.Boolean({ description: 'Also images that were pulled with credentials.' });
const count = Type.Integer({ minimum: 0 });

export const RpcListImages = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: MOST_LISTED }),
  name: Type.Optional(name),
  after: Type.Optional(Type.String({ maxLength: 1024 })),
  inclusive: Type.Optional(Type.Boolean()),
  private_images,
});
export type RpcListImages = Static<typeof RpcListImages>;

export const RpcNamedImage = Type.Object({ name, private_images });
export type RpcNamedImage = Static<typeof RpcNamedImage>;

/** Repeated with the same `pull_id` while the state is `pulling`; the pull continues without it. */
export const RpcPullImage = Type.Object({
  pull_id: Type.String({ minLength: 1, maxLength: 64 }),
  image: name,
  pull: Type.Enum(['missing', 'always']),
  for: Type.Enum(['all', 'trusted', 'anyone']),
  platform: Type.Optional(Type.String({ maxLength: 80 })),
  account: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
  wait_ms: Type.Integer({ minimum: 0, maximum: 20_000 }),
});
export type RpcPullImage = Static<typeof RpcPullImage>;

export const RpcTagImage = Type.Object({ name, other: name, private_images });
export type RpcTagImage = Static<typeof RpcTagImage>;

export const RpcPruneImages = Type.Object({ unused_for_ms: count, dry_run: Type.Boolean(), private_images });
export type RpcPruneImages = Static<typeof RpcPruneImages>;

export const RpcImageFailure = Type.Object({
  code: Type.Enum([...ERROR_CODES]),
  message: Type.String({ maxLength: 4096, description: 'For the log of the control plane.' }),
  sandboxes: Type.Optional(count),
  retry_after_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })),
});
export type RpcImageFailure = Static<typeof RpcImageFailure>;

const failed = Type.Optional(RpcImageFailure);

/** The results by method; each has either its own member or `failed`. */
export const RpcListedImages = Type.Object({
  images: Type.Optional(Type.Array(ImageSummary, { maxItems: MOST_LISTED })),
  failed,
});
export type RpcListedImages = Static<typeof RpcListedImages>;
export const RpcOneImage = Type.Object({ image: Type.Optional(Image), failed });
export type RpcOneImage = Static<typeof RpcOneImage>;
export const RpcPulledImage = Type.Object({
  /** Absent while it is being pulled. */
  image: Type.Optional(PulledImage),
  /** The newest of each layer, while it is being pulled. */
  progress: Type.Optional(Type.Array(ImageProgress, { maxItems: 512 })),
  failed,
});
export type RpcPulledImage = Static<typeof RpcPulledImage>;
export const RpcRemovedImage = Type.Object({
  removed: Type.Optional(Type.Object({ name: Type.String(), digest: Type.String(), freed_bytes: count })),
  failed,
});
export type RpcRemovedImage = Static<typeof RpcRemovedImage>;
export const RpcPrunedImages = Type.Object({
  pruned: Type.Optional(
    Type.Object({ removed: Type.Array(Type.String({ maxLength: 1024 })), freed_bytes: count }),
  ),
  failed,
});
export type RpcPrunedImages = Static<typeof RpcPrunedImages>;

/** A line of the answer to an import: progress, signs of life, and at last the images or the failure. */
export const WorkerImportLine = Type.Object({
  progress: Type.Optional(ImageProgress),
  images: Type.Optional(Type.Array(Image)),
  failed,
});
export type WorkerImportLine = Static<typeof WorkerImportLine>;
