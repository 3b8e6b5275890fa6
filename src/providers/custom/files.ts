// Files of a sandbox at the backend.
import { Readable } from 'node:stream';
import type { SandboxFiles } from '../../agent/io.ts';
import { formatMode } from '../../domain/mode.ts';
import { chargeEntry, counted } from '../backends/files.ts';
import { invalidReply } from '../outgoing/faults.ts';
import { CUSTOM_BACKEND, objectIn } from './backend.ts';
import { type FilesContext, fileCall } from './file-call.ts';
import { readContent } from './file-content.ts';
import { factsBelow, factsOf } from './file-facts.ts';

/** The same limit as for our own sandboxes (agent/files.ts). */
const MAX_LIST_BYTES = 32 * 1024 * 1024;
/** Above an entry with a path and a link's target of which every byte is escaped. */
const LISTED = { most: 50_000, bytes: 64 * 1024, depth: 8, tokens: 200 };

export function customFiles(place: FilesContext): SandboxFiles {
  return { ...lookups(place), ...transfers(place), ...changes(place) };
}

function lookups(place: FilesContext): Pick<SandboxFiles, 'stat' | 'list' | 'glob'> {
  return {
    stat: (path, signal) => stat(place, path, signal),
    list: async (path, depth, signal, room) => {
      const call = fileCall(place, path, signal);
      const many = { query: { depth }, maxBytes: MAX_LIST_BYTES };
      const reply = await call.request({ method: 'GET', path: '/files/list', ...many });
      return reply.list(LISTED, (each) => chargeEntry(factsBelow(path, each), room));
    },
    glob: async (pattern, limit, signal, room) => {
      const call = fileCall(place, undefined, signal);
      const many = { query: { pattern, limit }, maxBytes: MAX_LIST_BYTES };
      const reply = await call.request({ method: 'GET', path: '/files/glob', ...many });
      const found = await reply.list(LISTED, (each) => chargeEntry(pathIn(each), room));
      return found.slice(0, limit);
    },
  };
}

async function stat(place: FilesContext, path: string, signal: AbortSignal | undefined) {
  const reply = await fileCall(place, path, signal).request({ method: 'GET', path: '/files/stat' });
  return factsOf(path, await reply.json());
}

function pathIn(value: unknown): string {
  if (typeof value === 'string' && value.startsWith('/')) return value;
  throw invalidReply(CUSTOM_BACKEND, 'sent an invalid path');
}

function transfers(place: FilesContext): Pick<SandboxFiles, 'read' | 'write'> {
  return {
    read: async (path, range, signal) =>
      readContent(fileCall(place, path, signal), await stat(place, path, signal), range),
    write: async (path, body, { mode }, signal) => {
      const count = { bytes: Buffer.isBuffer(body) ? body.length : 0 };
      const reply = await fileCall(place, path, signal).stream({
        method: 'POST',
        path: '/files',
        query: modeText(mode),
        headers: { 'content-type': 'application/octet-stream' },
        body: Buffer.isBuffer(body) ? body : Readable.from(counted(body, count), { objectMode: false }),
      });
      const { atomic } = objectIn(await reply.json());
      return { size: count.bytes, atomic: atomic !== false };
    },
  };
}

function changes(place: FilesContext): Pick<SandboxFiles, 'mkdir' | 'move' | 'chmod' | 'remove'> {
  const change = async (path: string, json: object, signal: AbortSignal | undefined) => {
    const sandbox = { sandbox_id: place.runtime_id };
    const call = fileCall(place, undefined, signal);
    await (await call.request({ method: 'POST', path, json: { ...sandbox, ...json } })).discard();
  };
  return {
    mkdir: (path, { mode, parents }, signal) =>
      change('/files/mkdir', { path, parents, ...modeText(mode) }, signal),
    move: (from, to, signal) => change('/files/move', { old_path: from, new_path: to }, signal),
    chmod: (path, mode, signal) => change('/files/chmod', { path, ...modeText(mode) }, signal),
    remove: async (path, recursive, signal) => {
      const call = fileCall(place, path, signal);
      await (await call.request({ method: 'DELETE', path: '/files', query: { recursive } })).discard();
    },
  };
}

const modeText = (mode: number | undefined) => (mode === undefined ? {} : { mode: formatMode(mode) });
