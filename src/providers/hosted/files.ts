// Files of a hosted sandbox, through the library where it has a call, else through commands (chmod, glob).
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { EntryInfo, Sandbox } from 'e2b';
import type { FileRead, SandboxFiles } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { formatMode } from '../../domain/mode.ts';
import type { Random } from '../../domain/ports.ts';
import type { FileInfo } from '../../schema/file.ts';
import { chargeEntry, counted, cut, fileInfo } from '../backends/files.ts';
import { invalidReply } from '../outgoing/faults.ts';
import { HOSTED_BACKEND } from './errors.ts';
import type { Library } from './library.ts';

const MAX_GLOB = 4 * 1024 * 1024;
/** An empty IFS disables word splitting; the unquoted pattern is still expanded. */
const GLOB = 'IFS=; shopt -s globstar nullglob; for pattern in "$@"; do printf "%s\\0" $pattern; done';

export interface FilesContext {
  library: Library;
  random: Random;
  sandbox: Sandbox;
  /** Runs a command to its end. */
  run(argv: string[], signal?: AbortSignal): Promise<{ exit_code: number; stdout: string }>;
  end: AbortSignal;
}

type Work<T> = (files: Sandbox['files'], options: { signal: AbortSignal }) => Promise<T>;

export function hostedFiles(place: FilesContext): SandboxFiles {
  return { ...lookups(place), ...transfers(place), ...changes(place) };
}

async function call<T>(
  { library, sandbox, end }: FilesContext,
  signal: AbortSignal | undefined,
  work: Work<T>,
) {
  const either = signal ? AbortSignal.any([end, signal]) : end;
  return library.run(() => work(sandbox.files, { signal: either }), either);
}

const stat = (place: FilesContext, path: string, signal: AbortSignal | undefined) =>
  call(place, signal, async (files, options) => factsOf(await files.getInfo(path, options)));

/** Throws `provider_error` for an entry without a path. */
function factsOf(entry: EntryInfo): FileInfo {
  const { path, type, size, mode, modifiedTime, symlinkTarget } = entry;
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw invalidReply(HOSTED_BACKEND, 'sent a file without a path');
  const isLink = typeof symlinkTarget === 'string' && symlinkTarget !== '';
  const kind = isLink ? 'symlink' : type === 'dir' ? 'dir' : type === 'file' ? 'file' : 'other';
  const facts = { size, modified: modifiedTime?.getTime() ?? 0, target: symlinkTarget };
  return fileInfo({ path, type: kind, mode: formatMode(mode) }, facts);
}

function lookups(place: FilesContext): Pick<SandboxFiles, 'stat' | 'list' | 'glob'> {
  return {
    stat: (path, signal) => stat(place, path, signal),
    list: (path, depth, signal, room) =>
      call(place, signal, async (files, options) =>
        (await files.list(path, { depth, ...options })).map((each) => chargeEntry(factsOf(each), room)),
      ),
    glob: async (pattern, limit, signal, room) => {
      const patterns = bracesExpanded(pattern);
      const { exit_code, stdout } = await place.run(['bash', '-c', GLOB, 'bash', ...patterns], signal);
      if (exit_code !== 0 || stdout.length > MAX_GLOB)
        throw invalidReply(HOSTED_BACKEND, 'failed to search for files');
      const found = [...new Set(stdout.split('\0').filter((path) => path.startsWith('/')))].sort();
      return found.slice(0, limit).map((path) => chargeEntry(path, room));
    },
  };
}

function transfers(place: FilesContext): Pick<SandboxFiles, 'read' | 'write'> {
  return {
    read: (path, range, signal) => read(place, { path, ...range }, signal),
    write: async (path, body, { mode }, signal) => {
      const fresh = posix.join(posix.dirname(path), `.svc-${place.random.bytes(8).toString('hex')}`);
      const count = { bytes: 0 };
      const pieces = Readable.toWeb(Readable.from(counted(body, count), { objectMode: false }));
      try {
        await call(place, signal, (files, options) =>
          files.write(fresh, pieces, { useOctetStream: true, ...options }),
        );
        if (mode !== undefined) await chmod(place, fresh, mode, signal);
        await call(place, signal, (files, options) => files.rename(fresh, path, options));
      } catch (error) {
        await call(place, undefined, (files, options) => files.remove(fresh, options)).catch(() => undefined);
        throw error;
      }
      return { size: count.bytes, atomic: true };
    },
  };
}

interface FileRange {
  path: string;
  offset: number;
  length?: number;
}

/** The library reads complete files: bytes before the range are read and discarded. */
async function read(
  place: FilesContext,
  { path, offset, length }: FileRange,
  signal?: AbortSignal,
): Promise<FileRead> {
  const info = await stat(place, path, signal);
  if (info.is_dir) throw new ServiceError('bad_request', 'The path is a folder.');
  if (length === 0) return { info, content: Readable.from([]) };
  const file = await call(place, signal, (files, options) =>
    files.read(path, { format: 'stream', ...options }),
  );
  const range = cut(file as unknown as AsyncIterable<Uint8Array>, { offset, length });
  const content = Readable.from(translating(place.library, range), { objectMode: false });
  return { info, content: content.on('error', () => undefined) };
}

async function* translating(library: Library, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* content;
  } catch (error) {
    throw library.translated(error);
  }
}

function changes(place: FilesContext): Pick<SandboxFiles, 'mkdir' | 'move' | 'chmod' | 'remove'> {
  return {
    chmod: (path, mode, signal) => chmod(place, path, mode, signal),
    move: async (from, to, signal) => {
      await call(place, signal, (files, options) => files.rename(from, to, options));
    },
    mkdir: async (path, { mode, parents }, signal) => {
      if (!parents) await stat(place, posix.dirname(path), signal);
      const isNew = await call(place, signal, (files, options) => files.makeDir(path, options));
      if (!isNew && !parents) throw new ServiceError('conflict', 'The path already exists.');
      if (mode !== undefined) await chmod(place, path, mode, signal);
    },
    remove: async (path, recursive, signal) => {
      const { is_dir } = await stat(place, path, signal);
      const inside = is_dir && !recursive ? await call(place, signal, (files) => files.list(path)) : [];
      if (inside.length > 0) throw new ServiceError('conflict', 'The folder is not empty.');
      await call(place, signal, (files, options) => files.remove(path, options));
    },
  };
}

/** Calls `stat` first, because its error explains more than an exit code. */
async function chmod(place: FilesContext, path: string, mode: number, signal?: AbortSignal): Promise<void> {
  await stat(place, path, signal);
  const { exit_code } = await place.run(['chmod', formatMode(mode), '--', path], signal);
  if (exit_code !== 0)
    throw new ServiceError('forbidden', 'The sandbox is not allowed to change the mode of the path.');
}

const MOST = 256;

/**
 * A shell expands braces only in its own text, and a caller's pattern never becomes that. All patterns that `pattern` with `{a,b}` expands to. Throws `bad_request` for more than 256.
 */
function bracesExpanded(pattern: string): string[] {
  let done = [pattern];
  for (;;) {
    const next = done.flatMap(once);
    if (next.length > MOST)
      throw new ServiceError('bad_request', 'The pattern expands to too many patterns.', {
        remedy: `Use braces for at most ${MOST} patterns.`,
      });
    if (next.length === done.length && next.every((each, n) => each === done[n])) return done;
    done = next;
  }
}

/** Expands the first innermost braces with a comma. */
function once(pattern: string): string[] {
  const found = /\{([^{},]*(?:,[^{},]*)+)\}/.exec(pattern);
  if (!found) return [pattern];
  const [braces, inner = ''] = found;
  const [before, after] = [pattern.slice(0, found.index), pattern.slice(found.index + braces.length)];
  return inner.split(',').map((each) => before + each + after);
}
