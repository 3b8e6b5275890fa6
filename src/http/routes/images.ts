// Image stores (docs/images.md#over-the-api). Names contain slashes, so they are query parameters, never parts of a path.
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { ServiceError } from '../../domain/errors.ts';
import { Image, ImageSummary } from '../../schema/image.ts';
import {
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
import { Answer } from '../answer.ts';
import { limitedUpload, orUploadFailure } from '../body/upload.ts';
import { defineRoute, type Route } from '../route.ts';
import { ndjson } from '../stream.ts';

const tag = 'images';
const read = 'api';
const write = 'image_write';
const NDJSON = 'application/x-ndjson';
const WHO =
  'Needs an admin key, or an API key where images.writes is api. Without worker, all image stores that can be reached do it; failures lists those that could not.';
const errors = ['not_found', 'timeout', 'provider_error', 'unavailable'] as const;
/** Workers that a header names. */
const MOST_NAMED = 20;

const reads = [
  defineRoute({
    id: 'listImages',
    tag,
    auth: read,
    summary: 'List images by name',
    description:
      'Lists the image stores of the server and its workers: an image that several have comes once for each. Images that were pulled with credentials are listed for those who may use them.',
    query: ImageListQuery,
    success: {
      status: 200,
      description: 'One page of results.',
      schema: Type.Array(ImageSummary),
      headers: {
        'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.',
        'X-Unavailable-Workers':
          'Workers whose images are missing because they did not answer. Absent without one.',
      },
    },
    errors,
    handler: async ({ query, caller, signal }, { images }) => {
      const page = await images.list(query, caller, signal);
      const { next_cursor: next, unavailable } = page;
      const headers = {
        ...(next !== undefined && { 'X-Next-Cursor': next }),
        ...(unavailable.length > 0 && {
          'X-Unavailable-Workers': unavailable.slice(0, MOST_NAMED).join(', '),
        }),
      };
      return new Answer(page.images, { headers });
    },
  }),
  defineRoute({
    id: 'getImage',
    tag,
    auth: read,
    summary: 'Get an image',
    description: 'Of several stores that have it, the one of the server comes first, then workers by id.',
    query: ImageQuery,
    success: { status: 200, description: 'The image.', schema: Image },
    errors,
    handler: ({ query, caller, signal }, { images }) => images.get(query, caller, signal),
  }),
];

const fills = [
  defineRoute({
    id: 'pullImage',
    tag,
    auth: write,
    summary: 'Pull an image from its registry',
    description: `${WHO} The pull continues when the client disconnects. With stream true, the response is NDJSON and ends with a line whose stage is done or error.`,
    body: ImagePullRequest,
    success: {
      status: 200,
      description: 'The image in each store.',
      schema: ImagesPulled,
      other: { [NDJSON]: { schema: ImagePullLine } },
    },
    errors: [...errors, 'resource_limit'],
    example: { image: 'python:3.12-slim' },
    handler: async ({ body, caller, signal, about }, { images }) => {
      about(body.image);
      if (body.stream) return ndjson(await images.watchPull(body, caller, signal));
      return images.pull(body, caller, signal);
    },
  }),
  defineRoute({
    id: 'importImage',
    tag,
    auth: write,
    summary: 'Import images from an archive',
    description:
      'The body is an archive of docker save, an OCI layout as a tar file, or a tar file of a root file system; plain, or compressed with gzip or zstd. It goes into one store. Nothing is left of an import that fails, or whose client disconnects. Needs an admin key, or an API key where images.writes is api.',
    query: ImageImportQuery,
    body: Type.Unsafe<Readable>({}),
    bodyKind: 'archive',
    success: {
      status: 200,
      description: 'The images. With stream true, progress once the archive has arrived.',
      schema: ImagesStored,
      other: { [NDJSON]: { schema: ImageImportLine } },
    },
    errors: [...errors, 'payload_too_large', 'resource_limit'],
    handler: async ({ query, body, caller, signal, server, about }, { images }) => {
      if (!(body instanceof Readable)) throw noArchive();
      if (query.name !== undefined) about(query.name);
      const upload = limitedUpload(body, server.maxArchiveSize);
      if (!query.stream) return orUploadFailure(upload, images.import(upload, query, caller, signal));
      return ndjson(await orUploadFailure(upload, images.watchImport(upload, query, caller, signal)));
    },
  }),
];

const changes = [
  defineRoute({
    id: 'tagImage',
    tag,
    auth: write,
    summary: 'Give an image another name',
    description: `Both names lead to the same image afterwards. A name that another image had moves to this one. ${WHO}`,
    body: ImageTagRequest,
    success: {
      status: 200,
      description: 'The image under its other name, in each store.',
      schema: ImagesStored,
    },
    errors,
    example: { name: 'python:3.12-slim', as: 'team/python:stable' },
    handler: ({ body, caller, signal, about }, { images }) => {
      about(body.as);
      return images.tag(body, caller, signal);
    },
  }),
  defineRoute({
    id: 'deleteImage',
    tag,
    auth: write,
    summary: 'Delete an image',
    description: `Removes the name, with the files that no other image needs. Refuses while a sandbox runs on the image. ${WHO}`,
    query: ImageQuery,
    success: { status: 200, description: 'The name was removed.', schema: ImageDeleted },
    errors: [...errors, 'conflict'],
    handler: ({ query, caller, signal, about }, { images }) => {
      about(query.name);
      return images.remove(query, caller, signal);
    },
  }),
  defineRoute({
    id: 'pruneImages',
    tag,
    auth: write,
    summary: 'Remove unused images',
    description: `Removes images that no sandbox started on for unused_for, and what interrupted imports and pulls left. ${WHO}`,
    body: ImagePruneRequest,
    bodyOptional: true,
    success: { status: 200, description: 'The names that were removed, or would be.', schema: ImagesPruned },
    errors,
    example: { unused_for: '168h', dry_run: true },
    handler: ({ body, caller, signal }, { images }) => images.prune(body, caller, signal),
  }),
];

export const imageRoutes: Route[] = [...reads, ...fills, ...changes];

function noArchive(): ServiceError {
  return new ServiceError('bad_request', 'The archive is missing.', {
    remedy: 'Send it as the body, as application/x-tar.',
  });
}
