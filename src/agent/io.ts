// SandboxIo: all that can be done inside a running sandbox. `agent/session.ts` implements it over svc-agent;
// remote backends implement it over HTTP. Types only.

import type { Duplex, Readable } from 'node:stream';
import type { Hold } from '../domain/byte-ledger.ts';
import type { FileInfo } from '../schema/file.ts';
import type { SandboxGate } from './gate-io.ts';
import type { GuestFacts } from './guest-facts.ts';
import type { SeedOrder, SeedPart } from './seed.ts';

export interface ExecSpec {
  exec_id: string;
  /** Program and arguments; argv[0] is looked up in PATH inside the sandbox. */
  argv: string[];
  /** What `execs` shows. */
  label: string;
  env: Record<string, string>;
  /** Absolute, or undefined for the sandbox's default. */
  workdir?: string;
  /** Enforced where the process runs: it is killed even when the server is down. 0 or undefined: no limit. */
  timeoutMs?: number;
  /** true: `stdin` is a pipe that the caller writes and ends; false: standard input is empty. */
  stdin?: boolean;
  detach?: boolean;
  /**
   * What a repeat must say, of an exec whose `exec_id` stands for an Idempotency-Key. It runs on its own as a detached one
   * does; `exit` is -1 while it runs. Only where the session keeps keys.
   */
  body?: string;
  pty?: { rows: number; cols: number };
  /**
   * At most 1,024 bytes that `kept` tells: the exec lives on when its caller, its session or the server ends, and `resume` follows it.
   * Only where the session has both.
   */
  keep?: string;
}

export interface ExecExit {
  /** 128+n for signal n; 127 no such program; 126 not executable. -1: still running (detached). */
  exit_code: number;
  /** Name such as SIGKILL. */
  signal?: string;
  timed_out: boolean;
  duration_ms: number;
}

export interface OutputChunk {
  channel: 'stdout' | 'stderr';
  data: Buffer;
}

export interface Exec {
  exec_id: string;
  /** Resolves when the program is started; rejects as `exit` would when it cannot be. */
  started: Promise<void>;
  /** Writes wait for the program to take the bytes; ends with end(). A program that closed its input drops the rest. */
  stdin: { write(data: Buffer): Promise<void>; end(): void };
  /** Set where the program starts only when its input has ended: the backend takes both together. */
  startsAtInputEnd?: true;
  /** One consumer. Not reading stops the process, never the service. Ends before `exit` settles. */
  output: AsyncIterable<OutputChunk>;
  /** Rejects with `unavailable` when the sandbox or the session was lost. Never left unhandled by the implementation. */
  exit: Promise<ExecExit>;
  /** Kills the process group: TERM, KILL after 2 s, then every descendant. Idempotent. */
  kill(): void;
  resize(rows: number, cols: number): Promise<void>;
  /** The process id inside the sandbox, once `started` has resolved; absent where the backend does not tell it. */
  pid?(): number | undefined;
  /** For an exec with a `body`, once `exit` has resolved: another call had started it. */
  isRepeat?(): boolean;
}

export interface ExecRecord {
  exec_id: string;
  label: string;
  state: 'running' | 'exited';
  detached: boolean;
  exit_code: number;
  signal?: string;
  started_at: string;
  ended_at?: string;
}

export interface FileRead {
  info: FileInfo;
  /** Bytes of the range. Destroying it ends the work inside. */
  content: Readable;
}

/** What else is known of a file. Absent where the sandbox does not tell it. */
export interface FileFacts extends FileInfo {
  uid?: number;
  gid?: number;
  /** Extended attributes below the prefix that was asked for, without it; only of files and folders. */
  attributes?: Record<string, string>;
}

/** Extended attributes of a file: all below `prefix`, which begins with `user.`. */
export interface FileAttributes {
  prefix: string;
  values: Record<string, string>;
}

export interface WriteOptions {
  mode?: number;
  /** Replaces the attributes below the prefix; dropped where the file system or the agent keeps none. */
  attributes?: FileAttributes;
  /** A file that exists is emptied and written, so that its watchers, links and readers keep it; a failed body leaves a part. */
  inPlace?: boolean;
}

export interface FileChange {
  what: 'create' | 'write' | 'remove' | 'rename' | 'mode';
  /** Relative to the watched folder. */
  name: string;
}

export interface FileWatch {
  /** One consumer; leaving it ends the watch. Throws `resource_limit` when changes were lost. */
  changes: AsyncIterable<FileChange>;
  /** Resolves when the watch is over, for whatever reason. */
  closed: Promise<void>;
}

/** On whose account bytes are kept. */
export type Room = Pick<Hold, 'grow'>;

/** What came out of an archive. */
export interface Unpacked {
  files: number;
  folders: number;
  links: number;
  /** Content of the files. */
  bytes: number;
  /** Devices, pipes and the like, which are never made. */
  left_out: number;
}

/** Paths are absolute and already normalised. Failures: not_found, forbidden, conflict, bad_request, resource_limit (507 full). */
export interface SandboxFiles {
  stat(path: string, signal?: AbortSignal): Promise<FileInfo>;
  /** Content from `offset`, `length` bytes or to the end. A folder is bad_request. */
  read(path: string, range: { offset: number; length?: number }, signal?: AbortSignal): Promise<FileRead>;
  /** Parents are made. Nothing under the final name changes when `body` fails. */
  write(
    path: string,
    body: Readable | Buffer,
    options: WriteOptions,
    signal?: AbortSignal,
  ): Promise<{ size: number; atomic: boolean }>;
  /** Absent with agents of earlier versions and where no agent of ours runs. Not following it stops nothing but the watch. */
  watch?(path: string, options: { recursive: boolean }, signal?: AbortSignal): Promise<FileWatch>;
  /** Asks `room` before it keeps what comes; its refusal ends the work and is the failure. */
  list(path: string, depth: number, signal?: AbortSignal, room?: Room): Promise<FileInfo[]>;
  /** As `stat` and `list`, with owners and the attributes below a prefix. Absent as `watch` is. */
  facts?(path: string, prefix: string, signal?: AbortSignal): Promise<FileFacts>;
  listFacts?(
    path: string,
    options: { depth: number; prefix: string },
    signal?: AbortSignal,
    room?: Room,
  ): Promise<FileFacts[]>;
  glob(pattern: string, limit: number, signal?: AbortSignal, room?: Room): Promise<string[]>;
  mkdir(path: string, options: { mode?: number; parents: boolean }, signal?: AbortSignal): Promise<void>;
  move(from: string, to: string, signal?: AbortSignal): Promise<void>;
  chmod(path: string, mode: number, signal?: AbortSignal): Promise<void>;
  remove(path: string, recursive: boolean, signal?: AbortSignal): Promise<void>;
  /**
   * A folder as a tar archive, entries after `after` only, which is '' or the path of an entry below it. The archive names what
   * is left out in pax headers; one that breaks off has no end. Absent where nothing of ours runs inside, and with agents
   * of earlier versions.
   */
  pack?(path: string, after: string, signal?: AbortSignal): Promise<FileRead>;
  /**
   * Unpacks a tar archive below a folder, which is made. Each file is complete or absent. A failure says in `details` what
   * was unpacked all the same. Absent as `pack` is.
   */
  unpack?(path: string, body: Readable, signal?: AbortSignal): Promise<Unpacked>;
}

/** An exec that lives on without its caller. */
export interface KeptExec extends ExecRecord {
  /** Process id inside the sandbox. */
  pid: number;
  /** Whether its standard input is open. */
  hasInput: boolean;
  /** The text of `keep`. */
  note: string;
}

/** Both are absent with agents of earlier versions and where no agent of ours runs. */
export interface KeptExecs {
  /** Running ones and those that ended lately, whoever started them. */
  kept?(signal?: AbortSignal): Promise<KeptExec[]>;
  /**
   * Follows one, with its input: what nobody has followed yet of its output, as far as that was kept, then new output. `truncated`:
   * older output was dropped. Several may do so at once.
   */
  resume?(exec_id: string, signal?: AbortSignal): Promise<Exec & { truncated: boolean }>;
}

export interface SandboxIo {
  /** Absent where an exec may have no `body`. */
  keepsKeys?: true;
  /** Aborting `signal` kills the exec; `exit` then rejects with the signal's reason. */
  exec(spec: ExecSpec, signal?: AbortSignal): Exec;
  execs: KeptExecs & {
    list(signal?: AbortSignal): Promise<ExecRecord[]>;
    /** Replays the kept tail, then follows when asked. `truncated`: older output was dropped. */
    attach(exec_id: string, follow: boolean, signal?: AbortSignal): Promise<Exec & { truncated: boolean }>;
    /** `signal` is a name such as SIGTERM. */
    signal(exec_id: string, signal: string): Promise<void>;
  };
  files: SandboxFiles;
  /** A TCP connection to the sandbox's own loopback. `unavailable` when nothing listens. */
  connect(port: number, signal?: AbortSignal): Promise<Duplex>;
  /** Connections of programs that leave the sandbox (gate.ts). Absent on workers' hosts, and with agents of earlier versions. */
  gate?: SandboxGate;
  console(options: { lines: number; follow: boolean }, signal?: AbortSignal): AsyncIterable<string>;
  ping(signal?: AbortSignal): Promise<void>;
  /** Absent where nothing of ours runs inside, for tenants of a pool, and with agents of earlier versions. */
  usage?(signal?: AbortSignal): Promise<GuestFacts>;
  /**
   * Sets the time that is left, in ms, after which the sandbox ends by itself, also without a server; undefined: no end.
   * Replaces the earlier one. Resolves when it is in effect; rejects with `unavailable` within 3 s. Absent where nothing of
   * ours runs inside, and with agents of earlier versions.
   */
  setDeadline?(leftMs: number | undefined, signal?: AbortSignal): Promise<void>;
  /**
   * Ends the sandbox from inside and the session with it; resolves once it has ended, or after a moment. Never rejects. An end
   * from outside has to follow, and takes less then. Present where that is so.
   */
  endInside?(): Promise<void>;
  /** Ends the session; calls in flight fail with `unavailable`. Safe twice. Detached execs live on. */
  close(): void;
  /** Resolves once, when the session is over for whatever reason. */
  closed: Promise<void>;
  /**
   * The same as a user of the sandbox, by the name in its `/etc/passwd`. Absent where all is done as one user: the agent runs without
   * the rights of root, or is of an earlier version, or there is none.
   */
  asAccount?(name: string): AccountIo;
  /** Absent where a runtime holds one user only. */
  as?(user: PoolUser): UserIo;
  /**
   * Serves a further host on this session, over a stream that is authenticated already (relay.ts), until either ends.
   * Owns the stream; never rejects. Once `draining` aborts, it ends as soon as the host has nothing open. Absent where there is no agent.
   */
  relay?(stream: Duplex, draining?: AbortSignal): Promise<void>;
}

/** What a user of the sandbox does. A name that nobody has is `bad_request`. */
export type AccountIo = Pick<SandboxIo, 'exec' | 'files'>;

/** A tenant of a pool: a uid of its own, and the folder that is its workspace. */
export interface PoolUser {
  uid: number;
  home: string;
}

/** The sandbox as one tenant sees it: all is done with its uid, and other tenants' execs, ports and files do not exist. */
export interface UserIo extends Omit<SandboxIo, 'as' | 'asAccount' | 'relay' | 'gate' | 'usage'> {
  /** Makes the home, 0700 and the tenant's. Idempotent. */
  enter(signal?: AbortSignal): Promise<void>;
  /** Ends every process of the tenant and removes all it left. Idempotent; `conflict` when something would not end. */
  leave(signal?: AbortSignal): Promise<void>;
}

/** What svc-agent gives. */
export type AgentIo = SandboxIo &
  Required<Pick<SandboxIo, 'as' | 'relay'>> & {
    /** What could not be done of it. */
    seed(order: SeedOrder, signal?: AbortSignal): Promise<SeedPart[]>;
    /** Ends every process of the sandbox, the agent last, and the session. Resolves when the agent has agreed. */
    shutdown(signal?: AbortSignal): Promise<void>;
    /**
     * Makes the agent connect to the socket that it was started with and send `nonce` there, 16 bytes, so that another session
     * can be opened. Rejects within 5 s where it cannot. Absent without such a socket.
     */
    dial?(nonce: Buffer, signal?: AbortSignal): Promise<void>;
  };
