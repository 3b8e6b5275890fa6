// Images of a server by its API, for the image commands with --server; without it they work on the store of this machine.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { Flags } from '@oclif/core';
import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import type { ImageSummary } from '../schema/image.ts';
import type {
  ImageImportLine,
  ImageProgress,
  ImagePullLine,
  ImagesPulled,
  ImagesStored,
} from '../schema/image-calls.ts';
import type { Watch } from './operator-command.ts';

/** Not those of client commands: SVC_SERVER alone must not lead these commands elsewhere. */
export const imageServerFlags = {
  server: Flags.string({
    description: 'Address of a server, to use its image store instead of the one of this machine.',
    helpGroup: 'CONNECTION',
    helpValue: '<url>',
    exclusive: ['config'],
  }),
  'api-key-file': Flags.string({
    description: 'File with the API key; SVC_API_KEY can hold the key itself.',
    helpGroup: 'CONNECTION',
    helpValue: '<file>',
    dependsOn: ['server'],
  }),
  worker: Flags.string({
    description: 'Only the store of this worker; local is the server.',
    helpGroup: 'CONNECTION',
    helpValue: '<id>',
    dependsOn: ['server'],
  }),
};

export interface ServerFlags {
  server?: string | undefined;
  'api-key-file'?: string | undefined;
  worker?: string | undefined;
}

export interface ServerImages {
  images: Client['images'];
  /** What each call gets: the chosen store. */
  from: { worker?: string };
}

/** Undefined without --server. Sends nothing yet. Throws `bad_request` for an unusable key file. */
export async function serverImages({
  server,
  worker,
  ...flags
}: ServerFlags): Promise<ServerImages | undefined> {
  if (server === undefined) return undefined;
  // Most of these commands need no client, which takes a while to load.
  const { connect } = await import('./connection.ts');
  const { images } = connect({ server, ...flags });
  return { images, from: worker === undefined ? {} : { worker } };
}

export async function listedAt({ images, from }: ServerImages): Promise<ImageSummary[]> {
  const all: ImageSummary[] = [];
  let cursor: string | undefined;
  do {
    const page = await images.page({ ...from, ...(cursor !== undefined && { cursor }) });
    all.push(...page.images);
    cursor = page.next_cursor;
  } while (cursor !== undefined);
  return all;
}

export function pullAt(
  { images, from }: ServerImages,
  order: { image: string; platform: string | undefined },
  { signal, onStage }: Watch,
): Promise<ImagesPulled> {
  const { image, platform } = order;
  onStage('ask');
  const lines = images.watchPull({ image, ...(platform !== undefined && { platform }), ...from }, { signal });
  return lastOf<ImagesPulled>(lines, onStage);
}

/** `source` is a file, `-`, or the bytes of an archive. */
export async function importAt(
  { images, from }: ServerImages,
  { source, name }: { source: string | AsyncIterable<Buffer>; name: string | undefined },
  { signal, onStage }: Watch,
): Promise<ImagesStored> {
  onStage('send');
  const query = { ...from, ...(name !== undefined && { name }) };
  const lines = images.watchImport(await archiveOf(source), query, { signal });
  return lastOf<ImagesStored>(lines, onStage);
}

async function archiveOf(source: string | AsyncIterable<Buffer>): Promise<Readable> {
  if (typeof source !== 'string') return Readable.from(source, { objectMode: false });
  if (source === '-') return process.stdin;
  if ((await stat(source)).isDirectory()) throw noFolder();
  return createReadStream(source);
}

/** The answer in the last line. Throws the error that it has instead. */
async function lastOf<T>(
  lines: AsyncIterable<ImagePullLine | ImageImportLine>,
  onStage: Watch['onStage'],
): Promise<T> {
  for await (const event of lines) {
    if (event.stage === 'error') throw new ServiceError(event.code, event.message);
    if (event.stage === 'done') {
      const { stage: _, ...answer } = event;
      return answer as T;
    }
    showStage(event, onStage);
  }
  throw new ServiceError('unavailable', 'The server ended the progress before the result.', {
    remedy: 'Run the command again: it continues where this one ended.',
  });
}

function showStage(event: ImageProgress, onStage: Watch['onStage']): void {
  if (event.stage === 'tree') onStage('tree');
  if (event.stage === 'fetch') onStage(`Fetching layer ${event.layer}`, event.done_bytes, event.total_bytes);
  if (event.stage === 'unpack')
    onStage(`Unpacking layer ${event.layer}`, event.done_bytes, event.total_bytes);
}

function noFolder(): ServiceError {
  return new ServiceError('bad_request', 'A server takes an archive, not a folder.', {
    remedy: 'Pack the folder: tar -cf - -C FOLDER . | svc image import - --server URL',
  });
}
