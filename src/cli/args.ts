// Arguments that several commands share.
import { Args } from '@oclif/core';
import { ServiceError } from '../domain/errors.ts';

const PATH = 'Path in the sandbox; below /workspace unless it starts with /.';

export const idArg = Args.string({ description: 'Sandbox id.', required: true });
export const ownerArg = { owner: Args.string({ description: 'Owner, as in X-User-ID.', required: true }) };
export const pathArg = Args.string({ description: PATH, required: true });
export const optionalPathArg = Args.string({ description: PATH, default: '/workspace' });

/** The paths after `skip` words. Throws `bad_request` without a path. */
export function pathWords(argv: readonly unknown[], skip: number): string[] {
  const words = argv.slice(skip) as string[];
  if (words.length === 0)
    throw new ServiceError('bad_request', 'The path is missing.', { remedy: 'Name at least one.' });
  return words.map(insidePath);
}

export const WORKSPACE = '/workspace';

/** The absolute path or pattern inside a sandbox. Throws `bad_request` for an empty one. */
export function insidePath(text: string): string {
  if (text === '')
    throw new ServiceError('bad_request', 'The path is empty.', { remedy: 'Name a file or folder.' });
  return text.startsWith('/') ? text : `${WORKSPACE}/${text}`;
}
