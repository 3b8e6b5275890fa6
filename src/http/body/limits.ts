// How large bodies may be, by the kind that their route takes.
import type { HttpConfig } from '../http-config.ts';
import type { Route } from '../route.ts';
import { BYTES_TYPE } from './body.ts';

/** Bytes of a body of `type` at most. */
export function limitsOf(
  { bodyKind }: Route,
  { server, images }: Pick<HttpConfig, 'server' | 'images'>,
): (type: string) => number {
  if (bodyKind === 'folder') return () => server.max_archive_size;
  if (bodyKind === 'archive') return () => maxArchive(images);
  const json = bodyKind === 'json_file' || bodyKind === 'raw_file' ? server.max_json_file : server.body_limit;
  return (type) => (type === BYTES_TYPE ? server.max_file_size : json);
}

/** Bytes of an archive of images at most: its content, and a header for each entry. */
export const maxArchive = ({ max_image_bytes, max_entries }: HttpConfig['images']): number =>
  max_image_bytes + max_entries * 4096;
