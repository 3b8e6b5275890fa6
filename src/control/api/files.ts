// Files in sandboxes.
import type { Readable } from 'node:stream';
import type { FileAttributes, SandboxFiles } from '../../agent/io.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import type { ArchiveUnpacked, FileInfo, FileLink, FileWritten } from '../../schema/file.ts';
import type { Caller } from './caller.ts';

export type FileWatch = Awaited<ReturnType<NonNullable<SandboxFiles['watch']>>>;
export type FileFacts = Awaited<ReturnType<NonNullable<SandboxFiles['facts']>>>;
export type FileChange = FileWatch['changes'] extends AsyncIterable<infer Change> ? Change : never;

export interface Files {
  /** Reads a byte range as in RFC 9110 `bytes=`: first..last inclusive, or the last n bytes. */
  read(
    id: string,
    path: string,
    range: ByteRange | undefined,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<FileContentRead>;
  write(
    id: string,
    path: string,
    body: Readable | Buffer,
    options: { mode?: string; inPlace?: boolean; attributes?: FileAttributes },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<FileWritten>;
  /** Resolves when the watch is in place. Throws `not_implemented` where the sandbox cannot watch. */
  watch(
    id: string,
    path: string,
    options: { recursive: boolean },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<FileWatch>;
  stat(id: string, path: string, caller: Caller, signal: AbortSignal): Promise<FileInfo>;
  /** The result counts against `hold`, as that of `glob` does. */
  list(
    id: string,
    path: string,
    depth: number,
    caller: Caller,
    signal: AbortSignal,
    hold: Hold,
  ): Promise<FileInfo[]>;
  /** As `stat` and `list`, with owners and the extended attributes below a prefix, where the sandbox tells them. */
  facts(id: string, path: string, prefix: string, caller: Caller, signal: AbortSignal): Promise<FileFacts>;
  listFacts(
    id: string,
    path: string,
    options: { depth: number; prefix: string },
    caller: Caller,
    signal: AbortSignal,
    hold: Hold,
  ): Promise<FileFacts[]>;
  glob(id: string, pattern: string, caller: Caller, signal: AbortSignal, hold: Hold): Promise<string[]>;
  /** A folder as a tar archive, the entries after `after` only. */
  pack(id: string, path: string, after: string, caller: Caller, signal: AbortSignal): Promise<Readable>;
  /** Each file is complete or absent; a failure says in `details` what was unpacked. */
  unpack(
    id: string,
    path: string,
    body: Readable,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<ArchiveUnpacked>;
  move(id: string, from: string, to: string, caller: Caller, signal: AbortSignal): Promise<void>;
  chmod(id: string, path: string, mode: string, caller: Caller, signal: AbortSignal): Promise<void>;
  mkdir(
    id: string,
    path: string,
    options: { mode?: string; parents: boolean },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void>;
  remove(id: string, path: string, recursive: boolean, caller: Caller, signal: AbortSignal): Promise<void>;
  /**
   * The same as a user of the sandbox, by name, where the sandbox tells its users apart; `bad_request` for one that nobody has.
   * Elsewhere, and for undefined, all is done as its one user.
   */
  as(user: string | undefined): Files;
  /** Whether the sandbox tells its users apart. Throws as `stat` does for a sandbox that cannot be used. */
  hasUsers(id: string, caller: Caller, signal: AbortSignal): Promise<boolean>;
}

/** Files and folders that a browser downloads by an address. */
export interface Downloads {
  /** An address that is good once, for a minute, without a key. Throws as `stat` does. */
  link(id: string, path: string, caller: Caller, signal: AbortSignal): Promise<FileLink>;
  /** What the link is for: a folder as a tar archive. Throws `unauthorized` for a code that is not valid. */
  open(
    target: { id: string; path: string; code: string; request_id: string },
    signal: AbortSignal,
  ): Promise<{ name: string; content: Readable; isArchive: boolean; length?: number }>;
}

export type ByteRange = { first: number; last?: number } | { suffix: number };

export interface FileContentRead {
  info: FileInfo;
  content: Readable;
  /** The position of `content` in the file; undefined when it is the entire file. */
  range?: { first: number; last: number };
  /** The number of bytes in `content`. */
  length: number;
}
