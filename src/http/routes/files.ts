// Files and folders beside their content: list, stat, glob, move, chmod, mkdir, remove (docs/design/api.md#files).
import { Type } from 'typebox';
import {
  FileChmodRequest,
  FileGlobQuery,
  FileInfo,
  FileListQuery,
  FileMkdirRequest,
  FileMoveRequest,
  FilePathQuery,
  FileRemoveQuery,
  FileStatus,
} from '../../schema/file.ts';
import { defineRoute, type Route } from '../route.ts';
import { FILE_ERRORS, SandboxParams } from './params.ts';

const tag = 'files';
const auth = 'api';
const params = SandboxParams;
const errors = FILE_ERRORS;

export const fileRoutes: Route[] = [
  defineRoute({
    id: 'listFiles',
    tag,
    auth,
    summary: 'List a folder',
    description: 'path is / and depth 1 unless given. Links are not followed.',
    params,
    query: FileListQuery,
    success: { status: 200, description: 'What lies in it.', schema: Type.Array(FileInfo) },
    errors,
    handler: ({ params, query, caller, signal, hold }, { files }) =>
      files.list(params.id, query.path ?? '/', query.depth ?? 1, caller, signal, hold),
  }),
  defineRoute({
    id: 'statFile',
    tag,
    auth,
    summary: 'Look at a file, folder or link',
    params,
    query: FilePathQuery,
    success: { status: 200, description: 'Its facts.', schema: FileInfo },
    errors,
    handler: ({ params, query, caller, signal }, { files }) =>
      files.stat(params.id, query.path, caller, signal),
  }),
  defineRoute({
    id: 'globFiles',
    tag,
    auth,
    summary: 'Find paths by pattern',
    description: 'At most 10000; none gives an empty array.',
    params,
    query: FileGlobQuery,
    success: { status: 200, description: 'Absolute paths in order.', schema: Type.Array(Type.String()) },
    errors,
    handler: ({ params, query, caller, signal, hold }, { files }) =>
      files.glob(params.id, query.pattern, caller, signal, hold),
  }),
  defineRoute({
    id: 'moveFile',
    tag,
    auth,
    summary: 'Move or rename',
    params,
    body: FileMoveRequest,
    success: { status: 200, description: 'It is moved.', schema: FileStatus('moved') },
    errors,
    example: { old_path: '/workspace/a', new_path: '/workspace/b' },
    handler: async ({ params, body, caller, signal }, { files }) => {
      await files.move(params.id, body.old_path, body.new_path, caller, signal);
      return { status: 'moved' as const };
    },
  }),
  defineRoute({
    id: 'chmodFile',
    tag,
    auth,
    summary: 'Change permissions',
    params,
    body: FileChmodRequest,
    success: { status: 200, description: 'They are changed.', schema: FileStatus('chmod applied') },
    errors,
    example: { path: '/workspace/run.sh', mode: '755' },
    handler: async ({ params, body, caller, signal }, { files }) => {
      await files.chmod(params.id, body.path, body.mode, caller, signal);
      return { status: 'chmod applied' as const };
    },
  }),
  defineRoute({
    id: 'makeDirectory',
    tag,
    auth,
    summary: 'Make a folder',
    description: 'With its parents unless parents is false.',
    params,
    body: FileMkdirRequest,
    success: { status: 200, description: 'It is there.', schema: FileStatus('created') },
    errors,
    example: { path: '/workspace/src' },
    handler: async ({ params, body, caller, signal }, { files }) => {
      const { path, parents = true, mode } = body;
      await files.mkdir(
        params.id,
        path,
        mode === undefined ? { parents } : { parents, mode },
        caller,
        signal,
      );
      return { status: 'created' as const };
    },
  }),
  defineRoute({
    id: 'removeFile',
    tag,
    auth,
    summary: 'Remove a file or folder',
    description: 'A folder that is not empty needs recursive=true.',
    params,
    query: FileRemoveQuery,
    success: { status: 200, description: 'It is gone.', schema: FileStatus('deleted') },
    errors,
    handler: async ({ params, query, caller, signal }, { files }) => {
      await files.remove(params.id, query.path, query.recursive === true, caller, signal);
      return { status: 'deleted' as const };
    },
  }),
];
