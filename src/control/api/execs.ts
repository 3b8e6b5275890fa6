// Commands in sandboxes, and the console of a sandbox.
import type { Exec, KeptExec } from '../../agent/io.ts';
import type { Hold } from '../../domain/byte-ledger.ts';
import type { OutputText } from '../../domain/output.ts';
import type {
  ExecDetached,
  ExecItem,
  ExecLine,
  ExecOutputQuery,
  ExecRequest,
  ExecResult,
  LogLine,
} from '../../schema/exec.ts';
import type { Caller } from './caller.ts';

/** A repeat with the same Idempotency-Key joins the first command while it runs, and gets its result afterwards. */
export type KeyableRequest = ExecRequest & { idempotencyKey?: string };

/** `user`: as in `Files.as`. */
export type UserRequest = ExecRequest & { user?: string | undefined; idempotencyKey?: never };

export type LiveRequest = Omit<UserRequest, 'idempotencyKey'> & {
  tty?: { rows: number; cols: number };
  /** Standard input is empty; `open` gives a pipe otherwise. */
  noInput?: true;
  /** Instead of `timeout`, in ms: 0 is none, and one over the owner's maximum is that maximum. */
  deadlineMs?: number;
  /** The command lives on without this server, where its sandbox can do so; `kept` tells this text, of at most 1,024 bytes. */
  keep?: string;
  /** Throws `not_implemented` where the sandbox cannot keep it. */
  mustKeep?: true;
};

/** A command that lives on without its caller. */
export type KeptItem = Pick<KeptExec, 'exec_id' | 'pid' | 'hasInput' | 'note' | 'state' | 'ended_at'>;

/** Both directions of a running command. */
export interface LiveExec
  extends Pick<Exec, 'exec_id' | 'stdin' | 'startsAtInputEnd' | 'output' | 'exit' | 'resize' | 'pid'> {
  /** Sends a signal to its process group, by name. */
  signal(name: string): Promise<void>;
}

/** `utf8` output stays bytes of valid, complete characters: `data` holds those bytes. */
export type StreamedLine = ExecLine | { stream: 'stdout' | 'stderr'; data: Buffer };

/** A result whose outputs are still bytes. */
export interface ExecEnded extends Omit<ExecResult, 'stdout' | 'stderr'> {
  stdout: OutputText;
  stderr: OutputText;
}

export interface Execs {
  /** Outputs count against `hold` and are cut where it has no more. */
  run(
    id: string,
    request: KeyableRequest | UserRequest,
    caller: Caller,
    signal: AbortSignal,
    hold: Hold,
  ): Promise<ExecEnded>;
  /** Rejects for every failure before the first byte; then yields lines up to the `exit` or `error` line. */
  stream(
    id: string,
    request: KeyableRequest,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamedLine>>;
  /** A command with input while it runs. Aborting `signal` kills it, or ends only the connection to a detached one. */
  open(id: string, request: LiveRequest, caller: Caller, signal: AbortSignal): Promise<LiveExec>;
  /** Commands that were opened with `keep`: those that run and those that ended lately. None where the sandbox keeps none. */
  kept(id: string, caller: Caller, signal: AbortSignal): Promise<KeptItem[]>;
  /**
   * Follows one of them, with its input. `truncated`: output that nobody followed was dropped. Aborting `signal` ends only the
   * following. Throws `not_found`.
   */
  resume(
    target: { id: string; exec_id: string },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<LiveExec & { truncated: boolean }>;
  /** Resolves when the command runs; it then outlives the caller and this server. */
  detach(id: string, request: KeyableRequest, caller: Caller, signal: AbortSignal): Promise<ExecDetached>;
  /** All running execs and the newest ended ones, newest first. */
  list(id: string, caller: Caller, signal: AbortSignal): Promise<ExecItem[]>;
  get(id: string, exec_id: string, caller: Caller, signal: AbortSignal): Promise<ExecItem>;
  /** The kept output of a detached command, then new output when the query follows. Leaving it does not stop it. */
  output(
    target: { id: string; exec_id: string },
    query: ExecOutputQuery,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamedLine>>;
  /** Throws `not_found` for an exec that has ended or never existed, `bad_request` for an unknown signal. */
  signal(target: { id: string; exec_id: string }, name: string, caller: Caller): Promise<void>;
}

/** The console of a sandbox: output outside of an exec that somebody reads. */
export interface Logs {
  /** The last `lines`, oldest first, counted against `hold`. */
  read(id: string, lines: number, caller: Caller, signal: AbortSignal, hold: Hold): Promise<string[]>;
  /** Also each new line until the caller disconnects or the sandbox ends; undefined after 15 s of silence. */
  follow(
    id: string,
    lines: number,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogLine | undefined>>;
}
