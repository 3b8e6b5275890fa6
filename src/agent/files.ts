// SandboxFiles over a session. Paths come absolute and normalised; all work on them happens inside the sandbox.

import { ServiceError } from '../domain/errors.ts';
import { ERRNO } from './errno.ts';
import { packFolder, unpackFolder } from './file-archive.ts';
import { readFileFacts, readFileInfo } from './file-info.ts';
import { readFile } from './file-read.ts';
import { writeFile } from './file-write.ts';
import type { FileFacts, Room, SandboxFiles } from './io.ts';
import { collect, type ListingEnd } from './listing.ts';
import { CAPABILITY, KEEP_MODE } from './protocol.ts';
import type { Requests } from './requests.ts';
import { watchFolder } from './watch.ts';
import { type WireReader, WireWriter } from './wire.ts';

const LONG_MS = 10 * 60_000;
const LIST_MAX = 50_000;
const LIST_BYTES = 32 * 1024 * 1024;
const PATTERN = {
  [ERRNO.EINVAL]: 'The pattern is not valid.',
  [ERRNO.ENOENT]: 'The folder of the pattern does not exist.',
};

/** All of SandboxFiles; archives where the agent announced them. */
export function sandboxFiles(requests: Requests, capabilities: number): SandboxFiles {
  const hasArchives = (capabilities & CAPABILITY.archives) !== 0;
  const hasAttributes = (capabilities & CAPABILITY.attributes) !== 0;
  return {
    ...(hasArchives && archives(requests)),
    stat: (path, signal) =>
      requests.call('stat', readFileInfo, { args: () => new WireWriter().str(path), signal }),
    read: (path, range, signal) => readFile(requests, { path, ...range }, signal),
    write: (path, body, { attributes, ...options }, signal) =>
      writeFile(requests, { path, body, ...options, ...(hasAttributes && { attributes }) }, signal),
    list: (path, depth, signal, room) => list(requests, { path, depth, room }, signal),
    ...(hasAttributes && facts(requests)),
    glob: (pattern, limit, signal, room) => glob(requests, { pattern, limit, room }, signal),
    ...((capabilities & CAPABILITY.watch) !== 0 && {
      watch: (path: string, { recursive }: { recursive: boolean }, signal?: AbortSignal) =>
        watchFolder(requests, { path, recursive }, signal),
    }),
    ...changes(requests),
  };
}

function facts(requests: Requests): Pick<SandboxFiles, 'facts' | 'listFacts'> {
  return {
    facts: (path, prefix, signal) =>
      requests.call('stat', readFileFacts, { args: () => new WireWriter().str(path).str(prefix), signal }),
    listFacts: (path, { depth, prefix }, signal, room) =>
      list(requests, { path, depth, room, prefix }, signal),
  };
}

function archives(requests: Requests): Pick<SandboxFiles, 'pack' | 'unpack'> {
  return {
    pack: (path, after, signal) => packFolder(requests, { path, after }, signal),
    unpack: (path, body, signal) => unpackFolder(requests, { path, body }, signal),
  };
}

function changes(requests: Requests): Pick<SandboxFiles, 'mkdir' | 'move' | 'chmod' | 'remove'> {
  const none = () => undefined;
  return {
    mkdir: (path, { mode, parents }, signal) => {
      const args = () =>
        new WireWriter()
          .str(path)
          .u32(mode ?? KEEP_MODE)
          .u8(parents ? 1 : 0);
      return requests.call('mkdir', none, { args, signal });
    },
    move: (from, to, signal) => {
      return requests.call('move', none, {
        args: () => new WireWriter().str(from).str(to),
        deadlineMs: LONG_MS,
        words: { [ERRNO.ENOENT]: 'The path to move or the target folder does not exist.' },
        signal,
      });
    },
    chmod: (path, mode, signal) => {
      return requests.call('chmod', none, { args: () => new WireWriter().str(path).u32(mode), signal });
    },
    remove: (path, recursive, signal) => {
      const args = () => new WireWriter().str(path).u8(recursive ? 1 : 0);
      return requests.call('remove', none, { args, deadlineMs: LONG_MS, signal });
    },
  };
}

/** Throws `payload_too_large` for more than 50,000 entries or 32 MiB: a truncated list would look complete. */
async function list(
  requests: Requests,
  what: { path: string; depth: number; room: Room | undefined; prefix?: string | undefined },
  signal?: AbortSignal,
): Promise<FileFacts[]> {
  const { prefix } = what;
  const args = () => {
    const writer = new WireWriter().str(what.path).u32(what.depth).u32(LIST_MAX);
    return prefix === undefined ? writer : writer.str(prefix);
  };
  const stream = requests.open('list', { args, channels: [0], decode: readEnd }, signal);
  stream.within(LONG_MS, requests.clock, 'list');
  requests.keepAlive(stream, 'list');
  const { records, truncated } = await collect<FileFacts>(requests, stream, {
    decode: prefix === undefined ? readFileInfo : readFileFacts,
    records: LIST_MAX,
    bytes: LIST_BYTES,
    room: what.room,
  });
  if (!truncated) return records;
  throw new ServiceError('payload_too_large', 'The folder holds more than 50000 entries.', {
    remedy: 'List a smaller folder or fewer levels.',
  });
}

/** At most `limit` paths; more are left out, as `io.ts` says. */
async function glob(
  requests: Requests,
  what: { pattern: string; limit: number; room: Room | undefined },
  signal?: AbortSignal,
): Promise<string[]> {
  const args = () => new WireWriter().str(what.pattern).u32(what.limit);
  const stream = requests.open('glob', { args, channels: [0], decode: readEnd, words: PATTERN }, signal);
  stream.within(LONG_MS, requests.clock, 'glob');
  requests.keepAlive(stream, 'glob');
  const decode = (reader: WireReader) => reader.str();
  const plan = { decode, records: what.limit, bytes: LIST_BYTES, room: what.room };
  return (await collect(requests, stream, plan)).records;
}

function readEnd(reader: WireReader): ListingEnd {
  return { count: reader.u32(), truncated: reader.u8() !== 0 };
}
