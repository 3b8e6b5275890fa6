// Resolves typed paths: relative ones start in /workspace, where commands start too.
import { ServiceError } from '../domain/errors.ts';

export const WORKSPACE = '/workspace';

/** The absolute path or pattern inside a sandbox. Throws `bad_request` for an empty one. */
export function insidePath(text: string): string {
  if (text === '')
    throw new ServiceError('bad_request', 'The path is empty.', { remedy: 'Name a file or folder.' });
  return text.startsWith('/') ? text : `${WORKSPACE}/${text}`;
}
