// Folders as one tar archive, in and out (docs/design/api.md#files): streams in both directions, and one call each.
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../schema/error.ts';
import { ArchiveQuery, ArchiveUnpacked, FilePathQuery } from '../../schema/file.ts';
import { StreamAnswer } from '../answer.ts';
import { TAR_TYPE } from '../body/body.ts';
import { limitedUpload, orUploadFailure } from '../body/upload.ts';
import { defineRoute, type Route } from '../route.ts';
import { FILE_ERRORS, SandboxParams } from './params.ts';

const tag = 'files';
const auth = 'api';
const params = SandboxParams;
const errors = FILE_ERRORS;
const HEADERS = {
  'Content-Type': TAR_TYPE,
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

export const archiveRoutes: Route[] = [
  defineRoute({
    id: 'getArchive',
    tag,
    auth,
    summary: 'Download a folder as a tar archive',
    description:
      'Entries come in a fixed order, names sorted by bytes, a folder before its content. Links are not followed, and hard links are sent as files. A pax header with records SVC.left_out, each a Linux error number and a path, names what cannot be read or is not a file, folder or link. A download that breaks off has no end-of-archive block.',
    params,
    query: ArchiveQuery,
    success: { status: 200, description: 'The archive.', other: { [TAR_TYPE]: {} } },
    errors: errors.filter((code) => code !== 'payload_too_large'),
    handler: async ({ params, query, caller, signal }, { files }) =>
      new StreamAnswer(await files.pack(params.id, query.path, query.after ?? '', caller, signal), HEADERS),
  }),
  defineRoute({
    id: 'putArchive',
    tag,
    auth,
    summary: 'Upload a folder as a tar archive',
    description:
      'Unpacks a plain tar archive below a folder, which is created with its parents. Nothing is written outside the folder or through a link in it. Owners, set-id bits, devices and attributes of the archive are ignored, and folders that exist keep their mode. Each file is complete or absent. Entries that cannot be made fail the call, and the others are made all the same; details has their number, and failed names the first.',
    params,
    query: FilePathQuery,
    body: Type.Unsafe<Readable>({}),
    bodyKind: 'folder',
    success: { status: 200, description: 'All of the archive was unpacked.', schema: ArchiveUnpacked },
    errors,
    handler: async ({ params, query, body, caller, signal, server }, { files }) => {
      if (!(body instanceof Readable)) throw noArchive();
      const upload = limitedUpload(body, server.maxFolderSize);
      const unpacked = files.unpack(params.id, query.path, upload, caller, signal);
      return orUploadFailure(upload, unpacked).catch((error: unknown) => {
        throw upload.errored ? cutShort(asServiceError(error)) : error;
      });
    },
  }),
];

/** The failure of an upload that was cut short: the sandbox has what was complete before. */
function cutShort(error: ServiceError): ServiceError {
  const { code, message, remedy = remedyOf(code), details, status } = error;
  return new ServiceError(code, `${message} Entries before that were unpacked.`, {
    cause: error,
    status,
    ...(remedy !== undefined && { remedy }),
    ...(details && { details }),
  });
}

const remedyOf = (code: ErrorCode) =>
  code === 'payload_too_large' ? 'Send it in parts, or raise server.max_archive_size.' : undefined;

function noArchive(): ServiceError {
  return new ServiceError('bad_request', 'The archive is missing.', {
    remedy: 'Send it as the body, as application/x-tar.',
  });
}
