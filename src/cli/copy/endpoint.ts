// Source and target of a copy. `at` is the path of an entry below the source; '' is the source itself. Its parts are never
// empty, `.` or `..`: a source guarantees this, and a target relies on it.
import type { Readable } from 'node:stream';

export type Entry = { at: string } & (
  | {
      type: 'file';
      size?: number;
      mode?: number /** Seconds since 1970; kept where it is given. */;
      mtime?: number;
    }
  | { type: 'dir'; mode?: number }
  | { type: 'symlink'; target: string }
  /** Cannot be copied, such as a device; reported with the reason. */
  | { type: 'left_out'; reason: string }
  /** Could be copied, but cannot be read. */
  | { type: 'unreadable'; reason: string }
);
export type FileEntry = Extract<Entry, { type: 'file' }>;

export interface Source {
  /** Its name in a target folder; '' to copy only its content. */
  readonly name: string;
  /** All entries, the source itself first, a folder before its content. Throws `not_found`. */
  entries(signal: AbortSignal): AsyncIterable<Entry>;
  /** Content of one file; the caller must read or destroy it. */
  open(file: FileEntry, signal: AbortSignal): Promise<Readable>;
}

export interface Target {
  /** Called once, first, with the total number of bytes. Throws if they do not fit. */
  begin(bytes: number): Promise<void>;
  folder(at: string, mode: number | undefined): Promise<void>;
  /** Writes the file completely or not at all. `open` returns the content from its start each time. */
  file(file: FileEntry, open: () => Promise<Readable>, signal: AbortSignal): Promise<void>;
  /** As `file`, for a small one whose content is here; absent where it gains nothing. */
  small?(file: FileEntry, content: Buffer): Promise<void>;
  /** Called after all files. Returns the reason if it skips the link. */
  link(at: string, to: string): Promise<string | undefined>;
  /** Called once, last: sets modes of folders, which had to be writable until then. */
  end(): Promise<void>;
}

/** What exists at the target path. */
export type Kind = 'absent' | 'file' | 'dir';

// Checks names that come out of a sandbox, which are untrusted, before they become part of a local path.
const WINDOWS_NAME = /[\\:]|[. ]$|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Whether a file of this name stays in its folder. */
export function isPlainName(name: string, platform: NodeJS.Platform = process.platform): boolean {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) return false;
  return platform !== 'win32' || !WINDOWS_NAME.test(name);
}

/** The part of `path` below `root`, or undefined if it is elsewhere. */
export function pathBelow(root: string, path: string, platform?: NodeJS.Platform): string | undefined {
  const prefix = root.endsWith('/') ? root : `${root}/`;
  if (!path.startsWith(prefix)) return undefined;
  const at = path.slice(prefix.length);
  return at.split('/').every((name) => isPlainName(name, platform)) ? at : undefined;
}

/**
 * Whether a link at `at` stays within the copy. Allows only leading `..`, at most as many as it has folders above it: one after
 * a name could climb out through another link.
 */
export function staysInside(at: string, to: string): boolean {
  if (to === '' || to.startsWith('/') || /[\\\0]/.test(to)) return false;
  const parts = to.split('/').filter((part) => part !== '' && part !== '.');
  const up = parts.findIndex((part) => part !== '..');
  const climbs = up < 0 ? parts.length : up;
  return climbs < at.split('/').length && !parts.slice(climbs).includes('..');
}

/** Whether a typed path means the content of a folder: `dir/.`, `..`. */
export function namesContent(path: string): boolean {
  return /(?:^|\/)\.{1,2}\/?$/.test(path);
}
