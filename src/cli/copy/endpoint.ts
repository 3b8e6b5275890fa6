// The two ends of a copy. What is copied is known by its place below the source: '' is the source itself, parts are
// joined by / and are never empty, `.` or `..`: a source makes sure of it, a target may rely on it.
import type { Readable } from 'node:stream';

export type Entry = { at: string } & (
  | { type: 'file'; size?: number; mode?: number }
  | { type: 'dir'; mode?: number }
  | { type: 'symlink'; target: string }
  /** Nothing that a copy is made of; the reason is told. */
  | { type: 'left_out'; reason: string }
  /** Would be copied, and cannot be read. */
  | { type: 'unreadable'; reason: string }
);
export type FileEntry = Extract<Entry, { type: 'file' }>;

export interface Source {
  /** Its own name, for a target that is a folder to hold it; '' when only its content goes there. */
  readonly name: string;
  /** All there is, the source itself first, a folder before its content. Throws `not_found`. */
  entries(signal: AbortSignal): AsyncIterable<Entry>;
  /** Content of one file; it must be read or destroyed. */
  open(file: FileEntry, signal: AbortSignal): Promise<Readable>;
}

export interface Target {
  /** Called once, before all else, with the bytes to come. Throws when there is no room for them. */
  begin(bytes: number): Promise<void>;
  folder(at: string, mode: number | undefined): Promise<void>;
  /** Whole or not at all. `open` gives the content, from its beginning each time. */
  file(file: FileEntry, open: () => Promise<Readable>, signal: AbortSignal): Promise<void>;
  /** Called after all files. Answers why a link is left out, or nothing when it was made. */
  link(at: string, to: string): Promise<string | undefined>;
  /** Called once, at the end: modes of folders that had to be writable until then. */
  end(): Promise<void>;
}

/** What lies at a path that is to be written. */
export type Kind = 'absent' | 'file' | 'dir';
