// Standard input and output as the ends of a copy: one file, its bytes as they are.
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../../domain/errors.ts';
import type { Source, Target } from './ends.ts';

export function inputSource(input: Readable): Source {
  return {
    name: '',
    async *entries() {
      yield { at: '', type: 'file' };
    },
    open: async () => input,
  };
}

export function outputTarget(output: Writable): Target {
  const refuse = async () => {
    throw new ServiceError('bad_request', 'Standard output takes one file, not a folder.', {
      remedy: 'Name a folder here.',
    });
  };
  return {
    begin: async () => undefined,
    folder: refuse,
    file: async (_, open, signal) => pipeline(await open(), output, { signal, end: false }),
    link: refuse,
    end: async () => undefined,
  };
}
