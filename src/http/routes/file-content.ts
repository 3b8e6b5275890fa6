// Reading and writing files (docs/design/api.md#files): JSON bodies in memory, raw ones as streams.
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import type { FileContentRead } from '../../control/api/files.ts';
import { ServiceError } from '../../domain/errors.ts';
import {
  FileContent,
  FilePathQuery,
  FileWriteQuery,
  FileWriteRequest,
  FileWritten,
} from '../../schema/file.ts';
import { StreamAnswer } from '../answer.ts';
import { strictBase64Blocks } from '../body/base64.ts';
import { BYTES_TYPE } from '../body/body.ts';
import { limitedUpload, orUploadFailure } from '../body/upload.ts';
import { parseRange } from '../headers/range.ts';
import { defineRoute, type Route } from '../route.ts';
import { FILE_ERRORS, FileParams, SandboxParams } from './params.ts';

const tag = 'files';
const auth = 'api';
const written = { status: 200 as const, description: 'The file was written.', schema: FileWritten };
const errors = FILE_ERRORS;

export const fileContentRoutes: Route[] = [
  defineRoute({
    id: 'putFile',
    tag,
    auth,
    summary: 'Write a file at a path',
    description:
      'Send JSON, or the bytes as application/octet-stream with ?mode=. Creates missing parent directories. The server decodes the path once.',
    params: FileParams,
    query: FileWriteQuery,
    body: FileContent,
    bodyKind: 'raw_file',
    success: written,
    errors,
    example: { content: 'hello\n', mode: '644' },
    handler: async ({ params, query, body, content, caller, signal, server }, { files }) => {
      const path = `/${params['*']}`;
      const sent: unknown = body;
      if (!(sent instanceof Readable)) {
        const mode = onlyOneMode(body.mode, query.mode);
        const file = await fileOf(content, body);
        return files.write(params.id, path, file, mode, caller, signal);
      }
      const upload = limitedUpload(sent, server.maxFileSize);
      return orUploadFailure(
        upload,
        files.write(params.id, path, upload, modeOf(query.mode), caller, signal),
      );
    },
  }),
  defineRoute({
    id: 'writeFile',
    tag,
    auth,
    summary: 'Write a file',
    params: SandboxParams,
    body: FileWriteRequest,
    bodyKind: 'json_file',
    success: written,
    errors,
    example: { path: '/workspace/a.txt', content: 'aGVsbG8K', encoding: 'base64' },
    handler: async ({ params, body, content, caller, signal }, { files }) => {
      const file = await fileOf(content, body);
      return files.write(params.id, body.path, file, modeOf(body.mode), caller, signal);
    },
  }),
  defineRoute({
    id: 'readFile',
    tag,
    auth,
    summary: 'Read a file',
    description:
      'Returns the bytes unchanged. Supports a single range; a request for several ranges returns the entire file.',
    params: SandboxParams,
    query: FilePathQuery,
    headers: {
      Range: Type.String({ description: 'A single range, such as bytes=0-99, bytes=100- or bytes=-100.' }),
    },
    success: {
      status: 200,
      description: 'The entire file, or 206 with Content-Range.',
      other: { [BYTES_TYPE]: {} },
      headers: { 'Accept-Ranges': 'bytes' },
    },
    errors,
    handler: async ({ params, query, headers, caller, signal }, { files }) =>
      download(await files.read(params.id, query.path, parseRange(headers), caller, signal)),
  }),
];

/** What to write. `content` is empty afterwards where it was base64. */
async function fileOf(content: Buffer[], { encoding }: FileContent): Promise<Readable | Buffer> {
  const blocks = encoding === 'base64' ? await strictBase64Blocks(content, 'content') : content;
  return blocks.length > 1 ? Readable.from(blocks, { objectMode: false }) : (blocks[0] ?? Buffer.alloc(0));
}

function modeOf(mode: string | undefined): { mode?: string } {
  return mode === undefined ? {} : { mode };
}

function onlyOneMode(inBody: string | undefined, inQuery: string | undefined): { mode?: string } {
  if (inBody === undefined || inQuery === undefined) return modeOf(inBody ?? inQuery);
  throw new ServiceError('bad_request', 'mode is given in the body and in the query.');
}

function download({ info, content, range, length }: FileContentRead): StreamAnswer {
  const headers: Record<string, string> = {
    'Content-Type': BYTES_TYPE,
    'Content-Length': String(length),
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  if (range) headers['Content-Range'] = `bytes ${range.first}-${range.last}/${info.size}`;
  return new StreamAnswer(content, headers, { status: range ? 206 : 200 });
}
