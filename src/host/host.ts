// THE HOST SEAM: what this machine can do. `real-host.ts` does it; tests hand in their own.
import type { Stats } from 'node:fs';
import type { Readable, Writable } from 'node:stream';

export interface RunResult {
  /** null when killed. */
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  timeoutMs: number;
  /** A stream ends the program's input when it ends. */
  input?: string | Buffer | Readable;
  /** The complete environment of the child; it inherits nothing. */
  env?: Record<string, string>;
  cwd?: string;
  /** Output beyond this many bytes is dropped; 1 MiB unless given. */
  maxBytes?: number;
  signal?: AbortSignal;
}

/** A program that stays while this process does. */
export interface Companion {
  stdin: Writable;
  stdout: Readable;
  /** Resolves once it has ended, or could not be started, and nobody holds its output any more. */
  ended: Promise<void>;
  /** Ends it at once. Idempotent. */
  kill(): void;
}

/** A program that may outlive this process. */
export interface Detached {
  pid: number;
  /** Resolves when it has ended and its output is read. It does not keep this process alive. */
  ended: Promise<void>;
  /** The first 16 KiB of its standard error, so far. */
  errors(): string;
  /** Closes that: what it writes there afterwards is an error to it. Idempotent. */
  release(): void;
}

export interface FileSystemFacts {
  freeBytes: number;
  totalBytes: number;
  /** Its magic number. statfs(2) */
  type: number;
}

export interface Host {
  /** uid of this process; 0 is root. */
  readonly uid: number;
  readonly gid: number;
  readonly cpus: number;
  readonly memoryMb: number;
  /** Files and connections that this process may have open; infinite where no limit is known. */
  readonly maxFiles: number;
  /** Identifies this boot (`/proc/sys/kernel/random/boot_id`). */
  readonly bootId: string;
  /** The file's facts or undefined when it is not there. */
  stat(path: string): Promise<Stats | undefined>;
  /** First executable `name` in PATH, or undefined. */
  which(name: string): Promise<string | undefined>;
  /** Runs to the end; never rejects for a failing command, rejects when it cannot start or on the deadline. */
  run(file: string, args: readonly string[], options: RunOptions): Promise<RunResult>;
  /** Starts a program in a session of its own, with an empty environment. Throws `unavailable` without descriptors for its pipes. */
  accompany(file: string, args: readonly string[]): Companion;
  /**
   * Starts a program in a session of its own, with an empty environment; it outlives this process. Rejects with `unavailable`
   * when it cannot start. `stdin` is an open descriptor of ours; without it there is nothing to read.
   */
  detach(file: string, args: readonly string[], stdin?: number): Promise<Detached>;
  /** The first `maxBytes` of a file, of /proc too; undefined when it is not there. Never waits for a writer. */
  read(path: string, maxBytes: number): Promise<Buffer | undefined>;
  /** Whether this process may write to `path`. */
  mayWrite(path: string): Promise<boolean>;
  /** Creates and removes a folder in `folder`. Rejects with the system's error when it cannot. */
  tryFolder(folder: string): Promise<void>;
  /** Creates and removes a file with two names in `folder`. Rejects with the system's error when it cannot. */
  tryLink(folder: string): Promise<void>;
  /** The file system that holds `path`. */
  fileSystem(path: string): Promise<FileSystemFacts>;
  /** The duration in ms of each of `count` small synced writes to a new file in `folder`. The file is removed afterwards. */
  timeSyncs(folder: string, count: number): Promise<number[]>;
  /** Why nobody can listen there, as a code such as EADDRINUSE; undefined when one can. */
  portFault(address: string, port: number): Promise<string | undefined>;
}
