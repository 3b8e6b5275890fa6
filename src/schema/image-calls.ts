// What calls on the image stores of a server and its workers take and answer (docs/images.md#over-the-api).
import { type Static, Type } from 'typebox';
import { described } from './described.ts';
import { ERROR_CODES } from './error.ts';
import { Image, ImageSummary } from './image.ts';
import { ImageCursor, Image as ImageText, PositiveDuration } from './text-rules.ts';

/** As `POST /images/pull` takes it: `never` would pull nothing. */
export const PULLS_OF_CALLS = ['missing', 'always'] as const;
/** Unless a call says otherwise. */
export const UNUSED_FOR = '720h';
export const PLATFORM = '^linux/[a-z0-9]{1,32}(?:/[a-z0-9]{1,32})?$';

const worker_id = Type.String({ minLength: 1, maxLength: 128 });
const worker = Type.Optional(
  Type.String({
    ...worker_id,
    description:
      'Only the store of this worker; local is the server. Absent: all stores that can be reached.',
  }),
);
const name = (description: string) =>
  described(Type.String({ minLength: 1, maxLength: 255, description }), ImageText);
const stream = Type.Optional(
  Type.Boolean({ description: 'Answer with progress as NDJSON. The last line has stage done or error.' }),
);

export const ImageListQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Images in a page; default 100.' }),
    ),
    cursor: Type.Optional(described(Type.String({ maxLength: 1024 }), ImageCursor)),
    name: Type.Optional(
      described(
        Type.String({
          minLength: 1,
          maxLength: 256,
          description: 'Only this name, or with * at the end only names that start with it.',
        }),
        { pattern: '^[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,254}\\*?$' },
      ),
    ),
    worker,
  },
  { additionalProperties: false },
);
export type ImageListQuery = Static<typeof ImageListQuery>;

export const ImageQuery = Type.Object(
  { name: name('Image name, or the digest of an image.'), worker },
  { additionalProperties: false },
);
export type ImageQuery = Static<typeof ImageQuery>;

export const ImageImportQuery = Type.Object(
  {
    name: Type.Optional(name('Name that spawns use, instead of the names in the archive.')),
    worker: Type.Optional(
      Type.String({
        ...worker_id,
        description: 'Store that takes the images. Needed where there are several and none is of the server.',
      }),
    ),
    stream,
  },
  { additionalProperties: false },
);
export type ImageImportQuery = Static<typeof ImageImportQuery>;

export const ImagePullRequest = Type.Object(
  {
    image: name('Image name: [registry/]path[:tag][@digest]; docker.io and latest are the defaults.'),
    pull: Type.Optional(
      Type.Enum([...PULLS_OF_CALLS], {
        description:
          'missing pulls only what the store does not have; always (default) asks whether the tag has moved.',
      }),
    ),
    platform: Type.Optional(
      Type.String({
        maxLength: 80,
        pattern: PLATFORM,
        description: 'Such as linux/arm64; default that of the machine.',
      }),
    ),
    worker,
    stream,
  },
  { $id: 'ImagePullRequest', additionalProperties: false },
);
export type ImagePullRequest = Static<typeof ImagePullRequest>;

export const ImageTagRequest = Type.Object(
  { name: name('Image name.'), as: name('The other name.'), worker },
  { $id: 'ImageTagRequest', additionalProperties: false },
);
export type ImageTagRequest = Static<typeof ImageTagRequest>;

export const ImagePruneRequest = Type.Object(
  {
    unused_for: Type.Optional(
      described(
        Type.String({
          maxLength: 64,
          description: 'How long an image must be unused; default 720h.',
          examples: ['168h'],
        }),
        PositiveDuration,
      ),
    ),
    all: Type.Optional(Type.Boolean({ description: 'Remove every image that no sandbox runs on.' })),
    dry_run: Type.Optional(Type.Boolean({ description: 'Only list the images that would be removed.' })),
    worker,
  },
  { $id: 'ImagePruneRequest', additionalProperties: false },
);
export type ImagePruneRequest = Static<typeof ImagePruneRequest>;

/** What a pull of one store gave. */
export const PulledImage = Type.Object({
  ...Image.properties,
  fetched_bytes: Type.Integer({ description: 'Bytes of layers that came from a registry.' }),
  unchanged: Type.Boolean({ description: 'The store had the image, and the tag still leads to it.' }),
});
export type PulledImage = Static<typeof PulledImage>;

/** A store that could not do what the others did. */
export const ImageFailure = Type.Object({
  worker_id: Type.String(),
  code: Type.Enum([...ERROR_CODES]),
  message: Type.String(),
});
export type ImageFailure = Static<typeof ImageFailure>;

const failures = Type.Optional(
  Type.Array(ImageFailure, { description: 'Stores that failed while others succeeded.' }),
);

export const ImagesPulled = Type.Object(
  { images: Type.Array(PulledImage, { description: 'One for each store.' }), failures },
  { $id: 'ImagesPulled' },
);
export type ImagesPulled = Static<typeof ImagesPulled>;

export const ImagesStored = Type.Object({ images: Type.Array(Image), failures }, { $id: 'ImagesStored' });
export type ImagesStored = Static<typeof ImagesStored>;

export const ImageDeleted = Type.Object(
  {
    status: Type.Literal('deleted'),
    freed_bytes: Type.Integer({ description: 'Bytes that no other image needs, in all stores.' }),
    failures,
  },
  { $id: 'ImageDeleted' },
);
export type ImageDeleted = Static<typeof ImageDeleted>;

export const ImagesPruned = Type.Object(
  {
    removed: Type.Array(Type.String(), { description: 'Names, each once.' }),
    freed_bytes: Type.Integer(),
    failures,
  },
  { $id: 'ImagesPruned' },
);
export type ImagesPruned = Static<typeof ImagesPruned>;

const from = { worker_id: Type.Optional(Type.String()) };
const layer = Type.Integer({ minimum: 1, description: 'Number of the layer, from 1.' });
const bytes = Type.Integer({ minimum: 0 });

/** What a pull or an import does now. */
export const ImageProgress = Type.Union([
  Type.Object({
    stage: Type.Literal('resolve'),
    digest: Type.String({ maxLength: 128 }),
    layers: Type.Integer(),
    total_bytes: bytes,
    ...from,
  }),
  Type.Object({ stage: Type.Literal('fetch'), layer, done_bytes: bytes, total_bytes: bytes, ...from }),
  Type.Object({
    stage: Type.Literal('unpack'),
    layer,
    done_bytes: Type.Optional(bytes),
    total_bytes: Type.Optional(bytes),
    ...from,
  }),
  Type.Object({ stage: Type.Literal('tree'), ...from }),
]);
export type ImageProgress = Static<typeof ImageProgress>;

const failed = Type.Object({
  stage: Type.Literal('error'),
  code: Type.Enum([...ERROR_CODES]),
  message: Type.String(),
});

export const ImagePullLine = Type.Union(
  [...ImageProgress.anyOf, Type.Object({ stage: Type.Literal('done'), ...ImagesPulled.properties }), failed],
  { $id: 'ImagePullLine' },
);
export type ImagePullLine = Static<typeof ImagePullLine>;

export const ImageImportLine = Type.Union(
  [...ImageProgress.anyOf, Type.Object({ stage: Type.Literal('done'), ...ImagesStored.properties }), failed],
  { $id: 'ImageImportLine' },
);
export type ImageImportLine = Static<typeof ImageImportLine>;

export const ImageSummaries = Type.Array(ImageSummary);
