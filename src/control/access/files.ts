// The file operations: validate the request, run it inside the sandbox, publish an event.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { FileWatch, SandboxFiles } from '../../agent/io.ts';
import { asServiceError, ServiceError } from '../../domain/errors.ts';
import { parseMode } from '../../domain/mode.ts';
import { parsePath, parsePattern } from '../../domain/path.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { FileContentRead, Files } from '../api/files.ts';
import type { Publisher } from '../records/publish.ts';
import { readRange } from './file-range.ts';
import { doneAs, type OpenSandbox, type SandboxAccess } from './session-access.ts';

const GLOB_LIMIT = 10_000;

export interface FileDeps {
  access: SandboxAccess;
  publisher: Publisher;
}

/** One operation on one sandbox. */
interface Call {
  id: string;
  caller: Caller;
  signal: AbortSignal;
}

type Work<T> = (files: SandboxFiles, row: SandboxRecord) => Promise<T>;

export function files(deps: FileDeps, user?: string): Files {
  const { access } = deps;
  const perform = performer(deps, user);
  return {
    ...reads(deps, perform),
    ...archives(deps, perform),
    ...changes(deps, perform),
    as: (name) => files(deps, name),
    hasUsers: (id, caller, signal) =>
      access.explainFailure(id, async () =>
        access.use(await access.find(id, caller), signal, async (io) => io.asAccount !== undefined),
      ),
  };
}

type Perform = ReturnType<typeof performer>;

function performer({ access, publisher }: FileDeps, user: string | undefined) {
  /** `until` keeps the session open until it settles, not only for the call. */
  const attempt = async <T>(
    operation: string,
    { id, caller, signal }: Call,
    work: Work<T>,
    until?: (result: T) => Promise<unknown>,
  ): Promise<T> => {
    const row = await access.find(id, caller);
    let held: OpenSandbox | undefined;
    try {
      held = await access.open(row, signal);
      const result = await work(doneAs(held.io, user).files, row);
      const { release } = held;
      const over = until?.(result) ?? Promise.resolve();
      over.then(() => release(), release);
      return result;
    } catch (error) {
      if (!signal.aborted && !isAnswer(operation, error))
        publisher.failure(operation, row, error, caller.actor);
      held?.release(error);
      throw error;
    }
  };
  const perform: typeof attempt = (operation, call, ...rest) =>
    access.explainFailure(call.id, () => attempt(operation, call, ...rest));
  return perform;
}

/** Clients ask for an archive to learn whether a path is a folder, and whether there are archives: that is not a failure. */
const isAnswer = (operation: string, error: unknown): boolean =>
  operation === 'file.pack' && ['bad_request', 'not_implemented'].includes(asServiceError(error).code);

function reads(
  { publisher }: FileDeps,
  perform: Perform,
): Pick<Files, 'read' | 'stat' | 'list' | 'facts' | 'listFacts' | 'glob' | 'watch'> {
  return {
    facts: async (id, path, prefix, caller, signal) => {
      const of = parsePath(path, 'path');
      return perform('file.stat', { id, caller, signal }, (io) =>
        io.facts ? io.facts(of, prefix, signal) : io.stat(of, signal),
      );
    },
    listFacts: async (id, path, options, caller, signal, hold) => {
      const of = parsePath(path, 'path');
      return perform('file.list', { id, caller, signal }, (io) =>
        io.listFacts ? io.listFacts(of, options, signal, hold) : io.list(of, options.depth, signal, hold),
      );
    },
    watch: async (id, path, options, caller, signal) => {
      const of = parsePath(path, 'path');
      const work: Work<FileWatch> = async (io) => {
        if (!io.watch) throw cannotWatch();
        return io.watch(of, options, signal);
      };
      return perform('file.watch', { id, caller, signal }, work, ({ closed }) => closed);
    },
    read: async (id, path, range, caller, signal) => {
      const from = parsePath(path, 'path');
      const work: Work<FileContentRead> = async (io, row) => {
        const read = await readRange(io, from, range, signal);
        publisher.note('file.read', row, { path: from, size: read.length }, caller.actor);
        return read;
      };
      return perform('file.read', { id, caller, signal }, work, ({ content }) => once(content, 'close'));
    },
    stat: async (id, path, caller, signal) => {
      const of = parsePath(path, 'path');
      return perform('file.stat', { id, caller, signal }, (io) => io.stat(of, signal));
    },
    list: async (id, path, depth, caller, signal, hold) => {
      const of = parsePath(path, 'path');
      return perform('file.list', { id, caller, signal }, (io) => io.list(of, depth, signal, hold));
    },
    glob: async (id, pattern, caller, signal, hold) => {
      const wanted = parsePattern(pattern, 'pattern');
      return perform('file.glob', { id, caller, signal }, (io) => io.glob(wanted, GLOB_LIMIT, signal, hold));
    },
  };
}

/** One call each, whatever the folder holds. */
function archives({ publisher }: FileDeps, perform: Perform): Pick<Files, 'pack' | 'unpack'> {
  return {
    pack: async (id, path, after, caller, signal) => {
      const from = parsePath(path, 'path');
      const last = parsePath(`/${after}`, 'after').slice(1);
      const work: Work<Readable> = async ({ pack }, row) => {
        if (!pack) throw noArchives(row);
        const { content } = await pack(from, last, signal);
        publisher.note('file.read', row, { path: from, archive: true }, caller.actor);
        return content;
      };
      return perform('file.pack', { id, caller, signal }, work, (content) => once(content, 'close'));
    },
    unpack: async (id, path, body, caller, signal) => {
      const to = parsePath(path, 'path');
      return perform('file.unpack', { id, caller, signal }, async ({ unpack }, row) => {
        if (!unpack) throw noArchives(row);
        const done = await unpack(to, body, signal);
        publisher.note('file.written', row, { path: to, size: done.bytes, archive: true }, caller.actor);
        return { status: 'unpacked', path: to, ...done };
      });
    },
  };
}

function noArchives({ provider }: SandboxRecord): ServiceError {
  return new ServiceError('not_implemented', `Sandboxes of ${provider} cannot copy folders as archives.`, {
    remedy: 'Copy the files one by one. Sandboxes that started before an update can do it once they are new.',
  });
}

function changes(
  { publisher }: FileDeps,
  perform: Perform,
): Pick<Files, 'write' | 'move' | 'chmod' | 'mkdir' | 'remove'> {
  return {
    write: async (id, path, body, { mode, inPlace, attributes }, caller, signal) => {
      const to = parsePath(path, 'path');
      const options = {
        ...modeOption(mode),
        ...(inPlace && { inPlace }),
        ...(attributes && { attributes }),
      };
      return perform('file.write', { id, caller, signal }, async (io, row) => {
        const { size, atomic } = await io.write(to, body, options, signal);
        publisher.note('file.written', row, { path: to, size }, caller.actor);
        return { status: 'written', path: to, size, atomic };
      });
    },
    move: async (id, from, to, caller, signal) => {
      const paths = [parsePath(from, 'old_path'), parsePath(to, 'new_path')] as const;
      return perform('file.move', { id, caller, signal }, (io) => io.move(...paths, signal));
    },
    chmod: async (id, path, mode, caller, signal) => {
      const of = parsePath(path, 'path');
      const bits = parseMode(mode, 'mode');
      return perform('file.chmod', { id, caller, signal }, (io) => io.chmod(of, bits, signal));
    },
    mkdir: async (id, path, { mode, parents }, caller, signal) => {
      const of = parsePath(path, 'path');
      const options = { parents, ...modeOption(mode) };
      return perform('file.mkdir', { id, caller, signal }, (io) => io.mkdir(of, options, signal));
    },
    remove: async (id, path, recursive, caller, signal) => {
      const of = parsePath(path, 'path');
      return perform('file.delete', { id, caller, signal }, (io) => io.remove(of, recursive, signal));
    },
  };
}

function cannotWatch(): ServiceError {
  return new ServiceError('not_implemented', 'This sandbox cannot watch folders.', {
    remedy: 'Spawn a new one; sandboxes of remote backends never can.',
  });
}

const modeOption = (mode: string | undefined) =>
  mode === undefined ? {} : { mode: parseMode(mode, 'mode') };
