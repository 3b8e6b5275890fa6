// Downloads by links that are good once. A link is made by somebody who may read the file; who opens it needs nothing else.
import { ServiceError } from '../../domain/errors.ts';
import type { Caller } from '../api/caller.ts';
import type { OneTimeCodes } from '../api/codes.ts';
import type { Downloads, Files } from '../api/files.ts';

export function downloads(files: Pick<Files, 'stat' | 'read' | 'pack'>, codes: OneTimeCodes): Downloads {
  return {
    async link(id, path, caller, signal) {
      const info = await files.stat(id, path, caller, signal);
      if (info.type !== 'file' && info.type !== 'dir') throw notDownloadable();
      const { credential: parent, actor, owner } = caller;
      const rights = {
        parent,
        actor,
        scopes: ['read' as const],
        ...(owner !== undefined && { owner_id: owner }),
      };
      const { code, expires_at } = await codes.issue(purposeOf(id, path), rights);
      const query = new URLSearchParams({ path, code });
      return { url: `sandboxes/${encodeURIComponent(id)}/files/download?${query}`, expires_at };
    },
    async open({ id, path, code, request_id }, signal) {
      const { actor } = await codes.take(purposeOf(id, path), code);
      // Whose sandbox it is was asked when the link was made.
      const visitor: Caller = { role: 'admin', actor, credential: 'download', request_id };
      const { type, name } = await files.stat(id, path, visitor, signal);
      if (type === 'dir') {
        const content = await files.pack(id, path, '', visitor, signal);
        return { name: `${name || 'files'}.tar`, content, isArchive: true };
      }
      const { content, length } = await files.read(id, path, undefined, visitor, signal);
      return { name, content, isArchive: false, length };
    },
  };
}

const purposeOf = (id: string, path: string) => `file\n${id}\n${path}`;

function notDownloadable(): ServiceError {
  return new ServiceError('bad_request', 'The path is not a file or folder.', {
    remedy: 'Name a file or a folder; links are not followed.',
  });
}
