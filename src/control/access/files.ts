// The ten file operations: validate the request, run it inside the sandbox, publish an event.
import { once } from 'node:events';
import type { SandboxFiles } from '../../agent/io.ts';
import { parseMode } from '../../domain/mode.ts';
import { parsePath, parsePattern } from '../../domain/path.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { FileContentRead, Files } from '../api/files.ts';
import type { Publisher } from '../records/publish.ts';
import { readRange } from './file-range.ts';
import type { OpenSandbox, SandboxAccess } from './session-access.ts';

const GLOB_LIMIT = 10_000;

export interface FileDeps {
  access: SandboxAccess;
  publisher: Publisher;
}

/** One operation on one sandbox. */
interface Call<T> {
  id: string;
  operation: string;
  caller: Caller;
  signal: AbortSignal;
  work(files: SandboxFiles, row: SandboxRecord): Promise<T>;
  /** Keeps the session open until this settles, not only for the call. */
  until?: (result: T) => Promise<unknown>;
}

export function files(deps: FileDeps): Files {
  return { ...transfers(deps), ...lookups(deps), ...changes(deps) };
}

function transfers(deps: FileDeps): Pick<Files, 'read' | 'write'> {
  const { publisher } = deps;
  return {
    read: async (id, path, range, caller, signal) => {
      const from = parsePath(path, 'path');
      return perform<FileContentRead>(deps, {
        id,
        operation: 'file.read',
        caller,
        signal,
        until: ({ content }) => once(content, 'close'),
        work: async (io, row) => {
          const read = await readRange(io, from, range, signal);
          publisher.note('file.read', row, { path: from, size: read.length }, caller.actor);
          return read;
        },
      });
    },
    write: async (id, path, body, { mode }, caller, signal) => {
      const to = parsePath(path, 'path');
      const options = modeOption(mode);
      return perform(deps, {
        id,
        operation: 'file.write',
        caller,
        signal,
        work: async (io, row) => {
          const { size, atomic } = await io.write(to, body, options, signal);
          publisher.note('file.written', row, { path: to, size }, caller.actor);
          return { status: 'written', path: to, size, atomic };
        },
      });
    },
  };
}

function lookups(deps: FileDeps): Pick<Files, 'stat' | 'list' | 'glob'> {
  return {
    stat: async (id, path, caller, signal) => {
      const of = parsePath(path, 'path');
      return perform(deps, { id, operation: 'file.stat', caller, signal, work: (io) => io.stat(of, signal) });
    },
    list: async (id, path, depth, caller, signal, hold) => {
      const of = parsePath(path, 'path');
      return perform(deps, {
        id,
        operation: 'file.list',
        caller,
        signal,
        work: (io) => io.list(of, depth, signal, hold),
      });
    },
    glob: async (id, pattern, caller, signal, hold) => {
      const wanted = parsePattern(pattern, 'pattern');
      const work = (io: SandboxFiles) => io.glob(wanted, GLOB_LIMIT, signal, hold);
      return perform(deps, { id, operation: 'file.glob', caller, signal, work });
    },
  };
}

function changes(deps: FileDeps): Pick<Files, 'move' | 'chmod' | 'mkdir' | 'remove'> {
  return {
    move: async (id, from, to, caller, signal) => {
      const paths = [parsePath(from, 'old_path'), parsePath(to, 'new_path')] as const;
      const work = (io: SandboxFiles) => io.move(...paths, signal);
      return perform(deps, { id, operation: 'file.move', caller, signal, work });
    },
    chmod: async (id, path, mode, caller, signal) => {
      const of = parsePath(path, 'path');
      const bits = parseMode(mode, 'mode');
      const work = (io: SandboxFiles) => io.chmod(of, bits, signal);
      return perform(deps, { id, operation: 'file.chmod', caller, signal, work });
    },
    mkdir: async (id, path, { mode, parents }, caller, signal) => {
      const of = parsePath(path, 'path');
      const options = { parents, ...modeOption(mode) };
      const work = (io: SandboxFiles) => io.mkdir(of, options, signal);
      return perform(deps, { id, operation: 'file.mkdir', caller, signal, work });
    },
    remove: async (id, path, recursive, caller, signal) => {
      const of = parsePath(path, 'path');
      const work = (io: SandboxFiles) => io.remove(of, recursive, signal);
      return perform(deps, { id, operation: 'file.delete', caller, signal, work });
    },
  };
}

const modeOption = (mode: string | undefined) =>
  mode === undefined ? {} : { mode: parseMode(mode, 'mode') };

function perform<T>(deps: FileDeps, call: Call<T>): Promise<T> {
  return deps.access.explainFailure(call.id, () => attempt(deps, call));
}

async function attempt<T>({ access, publisher }: FileDeps, call: Call<T>): Promise<T> {
  const row = await access.find(call.id, call.caller);
  let held: OpenSandbox | undefined;
  try {
    held = await access.open(row, call.signal);
    const result = await call.work(held.io.files, row);
    const { release } = held;
    const over = call.until?.(result) ?? Promise.resolve();
    over.then(
      () => release(),
      (error: unknown) => release(error),
    );
    return result;
  } catch (error) {
    if (!call.signal.aborted) publisher.failure(call.operation, row, error, call.caller.actor);
    held?.release(error);
    throw error;
  }
}
