// Files and folders beside their content: list, stat, glob, move, chmod, mkdir, remove (docs/design/api.md#files).
import { Type } from 'typebox';
import { pageOf } from '../../domain/file-pages.ts';
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
import { Answer } from '../answer.ts';
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
    summary: 'List a directory',
    description:
      'path defaults to / and depth to 1. Symbolic links are not followed. A folder comes before what it holds, names in the order of their bytes. With limit the answer is a page. While the folder changes, pages miss only entries that come before those already read.',
    params,
    query: FileListQuery,
    success: {
      status: 200,
      description: 'The entries of the directory.',
      schema: Type.Array(FileInfo),
      headers: { 'X-Next-Cursor': 'Cursor of the next page. Absent on the last page.' },
    },
    errors,
    handler: async ({ params, query, caller, signal, hold }, { files }) => {
      const { path = '/', depth = 1 } = query;
      const all = await files.list(params.id, path, depth, caller, signal, hold);
      const { entries, next_cursor } = pageOf(all, query);
      return new Answer(entries, {
        headers: next_cursor === undefined ? {} : { 'X-Next-Cursor': next_cursor },
      });
    },
  }),
  defineRoute({
    id: 'statFile',
    tag,
    auth,
    summary: 'Get information about a file, directory or link',
    params,
    query: FilePathQuery,
    success: { status: 200, description: 'The file information.', schema: FileInfo },
    errors,
    handler: ({ params, query, caller, signal }, { files }) =>
      files.stat(params.id, query.path, caller, signal),
  }),
  defineRoute({
    id: 'globFiles',
    tag,
    auth,
    summary: 'Find paths by pattern',
    description: 'Returns at most 10000 paths, or an empty array.',
    params,
    query: FileGlobQuery,
    success: {
      status: 200,
      description: 'The matching absolute paths, sorted.',
      schema: Type.Array(Type.String()),
    },
    errors,
    handler: ({ params, query, caller, signal, hold }, { files }) =>
      files.glob(params.id, query.pattern, caller, signal, hold),
  }),
  defineRoute({
    id: 'moveFile',
    tag,
    auth,
    summary: 'Move or rename a file or directory',
    params,
    body: FileMoveRequest,
    success: { status: 200, description: 'The file was moved.', schema: FileStatus('moved') },
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
    summary: 'Change the permissions of a file or directory',
    params,
    body: FileChmodRequest,
    success: {
      status: 200,
      description: 'The permissions were changed.',
      schema: FileStatus('chmod applied'),
    },
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
    summary: 'Create a directory',
    description: 'Creates missing parents unless parents is false.',
    params,
    body: FileMkdirRequest,
    success: { status: 200, description: 'The directory exists.', schema: FileStatus('created') },
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
    summary: 'Remove a file or directory',
    description: 'A directory that is not empty requires recursive=true.',
    params,
    query: FileRemoveQuery,
    success: { status: 200, description: 'The file was removed.', schema: FileStatus('deleted') },
    errors,
    handler: async ({ params, query, caller, signal }, { files }) => {
      await files.remove(params.id, query.path, query.recursive === true, caller, signal);
      return { status: 'deleted' as const };
    },
  }),
];
