// File operations and the file-info record (docs/design/api.md#files).
import { type Static, Type } from 'typebox';
import { DESCRIBED, described } from './described.ts';
import { AbsolutePath, BASE64, FileCursor, RelativePath } from './text-rules.ts';

const path = (description = 'Absolute path inside the sandbox.') =>
  described(Type.String({ minLength: 1, maxLength: 4096, description }), AbsolutePath);
const mode = Type.String({
  pattern: '^[0-7]{3,4}$',
  description: 'Octal permission string of 3 or 4 digits.',
});
const encoding = Type.Enum(['utf8', 'base64'], { description: 'Encoding of content in JSON.' });
const encoded = {
  anyOf: [{ properties: { encoding: { const: 'utf8' } } }, { properties: { content: { pattern: BASE64 } } }],
};

export const FileInfo = Type.Object(
  {
    path: Type.String(),
    name: Type.String(),
    size: Type.Integer(),
    mode: Type.String(),
    is_dir: Type.Boolean(),
    type: Type.Enum(['file', 'dir', 'symlink', 'other']),
    mod_time: Type.String({ format: 'date-time' }),
    symlink_target: Type.Optional(Type.String()),
  },
  { $id: 'FileInfo', additionalProperties: false },
);
export type FileInfo = Static<typeof FileInfo>;

export const FileContent = Type.Object(
  { content: Type.String(), mode: Type.Optional(mode), encoding: Type.Optional(encoding) },
  { $id: 'FileContent', additionalProperties: false, [DESCRIBED]: encoded },
);
export type FileContent = Static<typeof FileContent>;

export const FileWriteRequest = Type.Object(
  { path: path(), content: Type.String(), mode: Type.Optional(mode), encoding: Type.Optional(encoding) },
  { $id: 'FileWriteRequest', additionalProperties: false, [DESCRIBED]: encoded },
);
export type FileWriteRequest = Static<typeof FileWriteRequest>;

export const FileWriteQuery = Type.Object({ mode: Type.Optional(mode) }, { additionalProperties: false });

export const FileWritten = Type.Object(
  {
    status: Type.Literal('written'),
    path: Type.String(),
    size: Type.Integer(),
    atomic: Type.Boolean({ description: 'false if the target could only be written in place.' }),
  },
  { $id: 'FileWritten', additionalProperties: false },
);
export type FileWritten = Static<typeof FileWritten>;

export const FileLinkRequest = Type.Object(
  { path: path('Absolute path of a file or folder inside the sandbox.') },
  { $id: 'FileLinkRequest', additionalProperties: false },
);

export const FileLink = Type.Object(
  {
    url: Type.String({
      description:
        'Relative to the address of the API, which ends in /api/v1/. It holds a code, which is a secret.',
    }),
    expires_at: Type.String({ format: 'date-time', description: 'When the link expires.' }),
  },
  { $id: 'FileLink', additionalProperties: false },
);
export type FileLink = Static<typeof FileLink>;

export const DownloadQuery = Type.Object(
  { path: path(), code: Type.String({ minLength: 1, maxLength: 256, description: 'As the link has it.' }) },
  { additionalProperties: false },
);

export const ArchiveUnpacked = Type.Object(
  {
    status: Type.Literal('unpacked'),
    path: Type.String(),
    files: Type.Integer(),
    folders: Type.Integer(),
    links: Type.Integer(),
    bytes: Type.Integer({ description: 'Content of the files.' }),
    left_out: Type.Integer({ description: 'Devices, pipes and the like, which are never made.' }),
  },
  { $id: 'ArchiveUnpacked', additionalProperties: false },
);
export type ArchiveUnpacked = Static<typeof ArchiveUnpacked>;

export const ArchiveQuery = Type.Object(
  {
    path: path('Absolute path of the folder inside the sandbox.'),
    after: Type.Optional(
      described(
        Type.String({
          description:
            'Path of an entry in the folder: only the entries after it are sent, to continue a download that broke off.',
        }),
        RelativePath,
      ),
    ),
  },
  { additionalProperties: false },
);

export const FilePathQuery = Type.Object({ path: path() }, { additionalProperties: false });
export const FileRemoveQuery = Type.Object(
  { path: path(), recursive: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
);
export const FileListQuery = Type.Object(
  {
    path: Type.Optional(path()),
    depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 64 })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: 'Most entries of an answer; without it, all of them.',
      }),
    ),
    cursor: Type.Optional(described(Type.String({ maxLength: 6000 }), FileCursor)),
  },
  { additionalProperties: false },
);
export type FileListQuery = Static<typeof FileListQuery>;
export const FileGlobQuery = Type.Object(
  { pattern: path('Absolute pattern with *, ?, [], ** and {a,b}.') },
  { additionalProperties: false },
);
export const FileMoveRequest = Type.Object(
  { old_path: path(), new_path: path() },
  { $id: 'FileMoveRequest', additionalProperties: false },
);
export type FileMoveRequest = Static<typeof FileMoveRequest>;
export const FileChmodRequest = Type.Object(
  { path: path(), mode },
  { $id: 'FileChmodRequest', additionalProperties: false },
);
export type FileChmodRequest = Static<typeof FileChmodRequest>;
export const FileMkdirRequest = Type.Object(
  { path: path(), mode: Type.Optional(mode), parents: Type.Optional(Type.Boolean()) },
  { $id: 'FileMkdirRequest', additionalProperties: false },
);
export type FileMkdirRequest = Static<typeof FileMkdirRequest>;

export const FileStatus = <S extends string>(status: S) =>
  Type.Object({ status: Type.Literal(status) }, { additionalProperties: false });
