// Links to files of sandboxes that are good once, for a browser that downloads them (docs/design/api.md#files).
import { DownloadQuery, FileLink, FileLinkRequest } from '../../schema/file.ts';
import { Answer, StreamAnswer } from '../answer.ts';
import { BYTES_TYPE, TAR_TYPE } from '../body/body.ts';
import { defineRoute, type Route } from '../route.ts';
import { FILE_ERRORS, SandboxParams } from './params.ts';

const tag = 'files';
const NO_STORE = { 'Cache-Control': 'no-store' };
/** What a guest wrote is never a page of this origin. */
const HEADERS = {
  ...NO_STORE,
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Referrer-Policy': 'no-referrer',
};

export const downloadRoutes: Route[] = [
  defineRoute({
    id: 'linkFile',
    tag,
    auth: 'api',
    scope: 'read',
    summary: 'Create a link that downloads a file or folder once',
    description:
      'The link works once, within a minute, and without a key: for a browser, which then keeps nothing of the file in memory. A folder is a tar archive. It ends with the key that made it.',
    params: SandboxParams,
    body: FileLinkRequest,
    success: { status: 201, description: 'The link.', schema: FileLink },
    errors: FILE_ERRORS.filter((code) => code !== 'payload_too_large'),
    example: { path: '/workspace/result.csv' },
    handler: async ({ params, body, caller, signal }, { downloads }) =>
      new Answer(await downloads.link(params.id, body.path, caller, signal), { headers: NO_STORE }),
  }),
  defineRoute({
    id: 'downloadFile',
    tag,
    auth: 'code',
    summary: 'Download a file or folder by a link',
    params: SandboxParams,
    query: DownloadQuery,
    success: {
      status: 200,
      description: 'The file, or the folder as a tar archive.',
      other: { [BYTES_TYPE]: {}, [TAR_TYPE]: {} },
      headers: { 'Content-Disposition': 'attachment, with the name of the file.' },
    },
    errors: ['unauthorized', ...FILE_ERRORS.filter((code) => code !== 'payload_too_large')],
    handler: async ({ params, query, caller, signal }, { downloads }) => {
      const target = { id: params.id, ...query, request_id: caller.request_id };
      const { name, content, isArchive, length } = await downloads.open(target, signal);
      return new StreamAnswer(content, {
        ...HEADERS,
        'Content-Type': isArchive ? TAR_TYPE : BYTES_TYPE,
        'Content-Disposition': `attachment; filename="download"; filename*=UTF-8''${encodedName(name)}`,
        ...(length !== undefined && { 'Content-Length': String(length) }),
      });
    },
  }),
];

/** As RFC 8187 says. */
const encodedName = (name: string): string =>
  encodeURIComponent(name).replace(/['()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
