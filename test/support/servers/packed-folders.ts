// A server whose sandboxes say what a test tells them about a folder /w, for copies out of it.
import { Readable } from 'node:stream';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { FileInfo } from '../../../src/schema/file.ts';
import { type TarPart, tarArchive } from '../tar.ts';
import type { TestHttp } from './http-server.ts';

const STAMP = '2026-01-02T03:04:05.000Z';

export const info = (path: string, facts: Partial<FileInfo> = {}): FileInfo => ({
  ...{ path, name: 'x', size: 3, mode: '644', is_dir: facts.type === 'dir', type: 'file', mod_time: STAMP },
  ...facts,
});

export type Packed = [parts: TarPart[], cut?: number];

/** The sandbox packs these archives of /w, one for each request; a number is where the connection breaks off. */
export function packs({ control }: TestHttp, ...archives: Packed[]): { after: string[] } {
  const asked = { after: [] as string[] };
  control.files.stat = async () => info('/w', { type: 'dir' });
  control.files.pack = async (_, __, after) => {
    const [parts = [], cut] = archives[asked.after.length] ?? [];
    asked.after.push(after);
    const bytes = tarArchive(...parts);
    async function* broken() {
      yield bytes.subarray(0, cut);
      if (cut !== undefined) throw new ServiceError('unavailable', 'Lost.');
    }
    return Readable.from(broken());
  };
  return asked;
}

export const dir = (name: string): TarPart => ({ name, type: '5', mode: 0o755 });
export const file = (name: string | Buffer, content = 'bad'): TarPart => ({ name, content });
export const link = (name: string, to: string): TarPart => ({ name, type: '2', link: to });
