// What the control plane offers of commands in sandboxes, and of what sandboxes write without being asked.
import type { Exec } from '../../agent/io.ts';
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

/** With an Idempotency-Key a repeat joins the first one while it runs, and is told its result afterwards. */
export type KeyableRequest = ExecRequest & { idempotencyKey?: string };

export type LiveRequest = ExecRequest & { tty?: { rows: number; cols: number } };

/** Both directions of a running command. */
export interface LiveExec extends Pick<Exec, 'exec_id' | 'stdin' | 'output' | 'exit' | 'resize'> {
  /** To its process group, by name. */
  signal(name: string): Promise<void>;
}

/** Output in `utf8` is left as it came, valid and in whole characters: `data` is then its bytes. */
export type StreamedLine = ExecLine | { stream: 'stdout' | 'stderr'; data: Buffer };

/** A result whose outputs are still bytes. */
export interface ExecEnded extends Omit<ExecResult, 'stdout' | 'stderr'> {
  stdout: OutputText;
  stderr: OutputText;
}

export interface Execs {
  /** Outputs are kept on `hold` and cut where it has no more. */
  run(
    id: string,
    request: KeyableRequest,
    caller: Caller,
    signal: AbortSignal,
    hold: Hold,
  ): Promise<ExecEnded>;
  /** Rejects for everything that goes wrong before the first byte; then lines to the `exit` or `error` line. */
  stream(
    id: string,
    request: KeyableRequest,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamedLine>>;
  /**
   * A command that the caller talks to while it runs. Aborting `signal` kills it, unless it is detached: then only the
   * talk ends.
   */
  open(id: string, request: LiveRequest, caller: Caller, signal: AbortSignal): Promise<LiveExec>;
  /** Resolves when it runs; it then lives on without the caller and without this server. */
  detach(id: string, request: KeyableRequest, caller: Caller, signal: AbortSignal): Promise<ExecDetached>;
  /** All that run and the newest ended ones, newest first. */
  list(id: string, caller: Caller, signal: AbortSignal): Promise<ExecItem[]>;
  get(id: string, exec_id: string, caller: Caller, signal: AbortSignal): Promise<ExecItem>;
  /** The kept output of a detached one, then what comes when it follows; leaving it leaves the command running. */
  output(
    target: { id: string; exec_id: string },
    query: ExecOutputQuery,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StreamedLine>>;
  /** Throws `not_found` for one that has ended or never was, `bad_request` for a word that names no signal. */
  signal(target: { id: string; exec_id: string }, name: string, caller: Caller): Promise<void>;
}

/** What a sandbox writes outside of an exec that somebody reads: its console. */
export interface Logs {
  /** The last `lines`, oldest first, kept on `hold`. */
  read(id: string, lines: number, caller: Caller, signal: AbortSignal, hold: Hold): Promise<string[]>;
  /** The same, then each line as it comes, until the caller leaves or the sandbox ends; undefined after 15 s of silence. */
  follow(
    id: string,
    lines: number,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<AsyncIterable<LogLine | undefined>>;
}
