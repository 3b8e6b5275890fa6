// File calls. Content travels as raw bytes, not as JSON.
import { PassThrough, type Readable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import type { ArchiveUnpacked, FileInfo, FileLink, FileListQuery, FileWritten } from '../schema/file.ts';
import { type CallTerms, type ClientAnswer, callTerms } from './call.ts';
import { ClientPart } from './client-part.ts';
import { transportFailure } from './failures.ts';

/** Content of a file. A stream can be sent once; a function that creates one allows retries. */
export type Content = string | Uint8Array | Readable | (() => Readable | Promise<Readable>);

export interface ReadFile {
  /** Fails with a ServiceError if the download breaks off. */
  content: Readable;
  /** Bytes of `content`; NaN if the server does not send it. */
  length: number;
}

/** All paths must be absolute; others reject with `bad_request` before anything is sent. */
export class FilesClient extends ClientPart {
  /** `range` is a header value such as `bytes=0-99`. The caller must read or destroy the content. */
  async open(id: string, path: string, options: CallTerms & { range?: string } = {}): Promise<ReadFile> {
    const answer = await this.send('readFile', {
      params: { id },
      query: { path: absolute(path) },
      ...callTerms(options),
      ...(options.range !== undefined && { headers: { range: options.range } }),
    });
    const length = Number(answer.headers['content-length'] ?? Number.NaN);
    return { content: withServiceErrors(answer, options.signal), length };
  }

  /** Reads the complete file into memory. */
  async read(id: string, path: string, terms: CallTerms = {}): Promise<Buffer> {
    const { content } = await this.open(id, path, terms);
    return Buffer.concat((await content.toArray()) as Buffer[]);
  }

  /** Creates parent folders. */
  write(
    id: string,
    path: string,
    content: Content,
    options: CallTerms & { mode?: string } = {},
  ): Promise<FileWritten> {
    return this.call('putFile', {
      params: { id, path: absolute(path).slice(1) },
      query: { mode: options.mode },
      bytes: content,
      timeoutMs: 0,
      ...callTerms(options),
    });
  }

  /**
   * A folder as a tar archive, the entries after `after` only. The caller must read or destroy the stream, which fails with a
   * ServiceError if the download breaks off.
   */
  async openArchive(
    id: string,
    path: string,
    options: CallTerms & { after?: string } = {},
  ): Promise<Readable> {
    const answer = await this.send('getArchive', {
      params: { id },
      query: { path: absolute(path), after: options.after },
      ...callTerms(options),
    });
    return withServiceErrors(answer, options.signal);
  }

  /**
   * Unpacks a tar archive below a folder, which is created. Each file is complete or absent. Rejects if an entry is missing
   * afterwards; `details` holds the counts and the first failures.
   */
  writeArchive(
    id: string,
    path: string,
    archive: Content,
    options: CallTerms = {},
  ): Promise<ArchiveUnpacked> {
    return this.call('putArchive', {
      params: { id },
      query: { path: absolute(path) },
      bytes: archive,
      headers: { 'content-type': 'application/x-tar' },
      timeoutMs: 0,
      ...callTerms(options),
    });
  }

  /** A link that downloads a file or folder once, within a minute, without a key; relative to the address of the API. */
  link(id: string, path: string, terms: CallTerms = {}): Promise<FileLink> {
    return this.call('linkFile', { params: { id }, json: { path: absolute(path) }, ...terms });
  }

  stat(id: string, path: string, terms: CallTerms = {}): Promise<FileInfo> {
    return this.call('statFile', {
      params: { id },
      query: { path: absolute(path) },
      ...terms,
    });
  }

  list(id: string, path = '/', depth = 1, terms: CallTerms = {}): Promise<FileInfo[]> {
    return this.call('listFiles', {
      params: { id },
      query: { path: absolute(path), depth },
      ...terms,
    });
  }

  /** One page of a folder, and the cursor of the next. */
  async page(
    id: string,
    path: string,
    query: Omit<FileListQuery, 'path'> = {},
    terms: CallTerms = {},
  ): Promise<{ entries: FileInfo[]; next_cursor?: string }> {
    const all = { ...query, path: absolute(path) };
    const [entries, next] = await this.listPage<FileInfo>('listFiles', all, { params: { id }, ...terms });
    return { entries, ...next };
  }

  glob(id: string, pattern: string, terms: CallTerms = {}): Promise<string[]> {
    return this.call('globFiles', {
      params: { id },
      query: { pattern: absolute(pattern) },
      ...terms,
    });
  }

  async move(id: string, old_path: string, new_path: string, terms: CallTerms = {}): Promise<void> {
    const json = { old_path: absolute(old_path), new_path: absolute(new_path) };
    await this.call('moveFile', { params: { id }, json, ...terms });
  }

  async chmod(id: string, path: string, mode: string, terms: CallTerms = {}): Promise<void> {
    const json = { path: absolute(path), mode };
    await this.call('chmodFile', { params: { id }, json, ...terms });
  }

  async mkdir(
    id: string,
    path: string,
    { signal, timeoutMs, ...options }: CallTerms & { mode?: string; parents?: boolean } = {},
  ): Promise<void> {
    const json = { path: absolute(path), ...options };
    await this.call('makeDirectory', { params: { id }, json, ...callTerms({ signal, timeoutMs }) });
  }

  async remove(id: string, path: string, options: CallTerms & { recursive?: boolean } = {}): Promise<void> {
    await this.call('removeFile', {
      params: { id },
      query: { path: absolute(path), recursive: options.recursive },
      ...callTerms(options),
    });
  }
}

/** A call has no working folder for relative paths. */
function absolute(path: string): string {
  if (path.startsWith('/')) return path;
  throw new ServiceError('bad_request', `The path ${JSON.stringify(path.slice(0, 256))} is not absolute.`, {
    remedy: `Start it with /, for example ${JSON.stringify(`/workspace/${path.slice(0, 256)}`)}.`,
  });
}

/** Fails with ServiceErrors. Destroying the stream closes the connection. */
function withServiceErrors({ body, opaque }: ClientAnswer, signal?: AbortSignal): Readable {
  const content = new PassThrough();
  body.once('error', (error) => content.destroy(transportFailure(error, opaque, signal) as Error));
  content.once('close', () => body.destroy());
  return body.pipe(content);
}
