// Detached commands of one hosted sandbox. The backend keeps no output, so this server does. After a restart the commands
// are found by their markers in the process list, and their output is kept from then on.
import type { Sandbox } from 'e2b';
import type { ExecExit, ExecRecord, ExecSpec } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { TIMED_OUT } from '../../domain/exec-request.ts';
import type { Clock } from '../../domain/ports.ts';
import { commandLine, WORKSPACE } from './command-line.ts';
import { type CommandStream, listenerTo, openStream, streamOf } from './command-stream.ts';
import { Deadlines } from './deadlines.ts';
import { exitOf } from './exit.ts';
import type { Library } from './library.ts';
import { OutputTail } from './output-tail.ts';
import { followToEnd } from './stream-handover.ts';

/** Running and ended commands; their tails take at most eight mebibytes. */
const MOST = 32;
const TAIL_BYTES = 256 * 1024;

export interface DetachedExec {
  record: ExecRecord;
  pid: number;
  tail: OutputTail;
  /** Rejects when the command is no longer followed. Needs no handler. */
  exit: Promise<ExecExit>;
}

interface TrackedExec extends DetachedExec {
  isTimedOut: boolean;
  settle: { resolve(exit: ExecExit): void; reject(error: unknown): void };
}

interface DetachedDeps {
  library: Pick<Library, 'run' | 'translated'>;
  clock: Clock;
  sandbox: Sandbox;
}

export class DetachedExecs {
  readonly #deps: DetachedDeps;
  readonly #all = new Map<string, TrackedExec>();
  readonly #deadlines: Deadlines;
  #starting = 0;
  #isAdopted = false;

  constructor(deps: DetachedDeps) {
    this.#deps = deps;
    this.#deadlines = new Deadlines(deps.clock, (exec_id) => this.#expire(exec_id));
  }

  /** Resolves when the command runs. Throws `resource_limit` for too many. */
  async start(spec: ExecSpec): Promise<void> {
    this.#makeRoom();
    this.#starting++;
    await this.#run(spec).finally(() => this.#starting--);
  }

  async #run(spec: ExecSpec): Promise<void> {
    const { clock, library, sandbox } = this.#deps;
    const { exec_id, label, timeoutMs } = spec;
    const began = clock.now();
    const marker: Marker = {
      exec_id,
      label,
      began,
      ...(timeoutMs && { ends: began + timeoutMs }),
    };
    const tail = new OutputTail(TAIL_BYTES);
    await library.run(async () => {
      const line = marked(commandLine(spec.argv), marker);
      const listener = listenerTo(tail);
      const handle = await sandbox.commands.run(line, {
        background: true,
        timeoutMs: 0,
        envs: spec.env,
        cwd: spec.workdir ?? WORKSPACE,
        ...listener.callbacks,
      });
      this.#keep(marker, tail, streamOf(handle, listener));
    });
  }

  /** Takes over the commands of an earlier server, with their deadlines. Never throws: `find` and `list` retry. */
  async resume(signal: AbortSignal): Promise<void> {
    await this.#adopt(signal).catch(() => undefined);
  }

  async list(signal?: AbortSignal): Promise<ExecRecord[]> {
    await this.#adopt(signal);
    return [...this.#all.values()].map(({ record }) => record);
  }

  async find(exec_id: string, signal?: AbortSignal): Promise<DetachedExec | undefined> {
    if (!this.#all.has(exec_id)) await this.#adopt(signal);
    return this.#all.get(exec_id);
  }

  /** Stops following all commands. They continue to run, without deadlines. */
  leave(error: unknown): void {
    this.#deadlines.close();
    for (const [exec_id, one] of this.#all) this.#lose(exec_id, one, error);
  }

  #makeRoom(): void {
    for (const [exec_id, { record }] of this.#all)
      if (this.#isFull() && record.state === 'exited') this.#all.delete(exec_id);
    if (this.#isFull())
      throw new ServiceError('resource_limit', `${MOST} detached commands run in the sandbox.`, {
        remedy: 'Stop one of them first.',
      });
  }

  #isFull(): boolean {
    return this.#all.size + this.#starting >= MOST;
  }

  /** Follows commands of an earlier server, and commands whose stream was lost. */
  async #adopt(signal?: AbortSignal): Promise<void> {
    if (this.#isAdopted) return;
    const { library, sandbox } = this.#deps;
    await library.run(async () => {
      const running = await sandbox.commands.list(signal ? { signal } : {});
      let isComplete = true;
      for (const { pid, args } of running.slice(0, 4096)) {
        const marker = markerIn(args.at(-1));
        if (!marker || this.#all.has(marker.exec_id)) continue;
        const tail = new OutputTail(TAIL_BYTES, true);
        const opening = this.#isFull() ? undefined : openStream(sandbox, { pid, sink: tail, signal });
        const line = await opening?.catch(() => undefined);
        // The command may have ended, or the next call finds it.
        isComplete &&= line !== undefined;
        if (line && !this.#all.has(marker.exec_id)) this.#keep(marker, tail, line);
        else await line?.handle.disconnect();
      }
      this.#isAdopted = isComplete;
    }, signal);
  }

  #keep({ exec_id, label, began, ends }: Marker, tail: OutputTail, line: CommandStream): void {
    const record: ExecRecord = {
      exec_id,
      label,
      state: 'running',
      detached: true,
      exit_code: -1,
      started_at: new Date(began).toISOString(),
    };
    let settle: TrackedExec['settle'] | undefined;
    const exit = new Promise<ExecExit>((resolve, reject) => {
      settle = { resolve, reject };
    });
    exit.catch(() => undefined);
    if (!settle) return;
    const { pid } = line.handle;
    const one: TrackedExec = { record, pid, tail, exit, settle, isTimedOut: false };
    if (ends !== undefined) this.#deadlines.keep(exec_id, ends);
    this.#all.set(exec_id, one);
    void this.#follow(exec_id, one, line);
  }

  /** Kills a command at its deadline. A command whose stream was lost is looked up first. */
  async #expire(exec_id: string): Promise<boolean> {
    if (!(await this.find(exec_id))) return this.#isAdopted;
    const one = this.#all.get(exec_id);
    if (one?.record.state !== 'running') return true;
    one.isTimedOut = true;
    const { library, sandbox } = this.#deps;
    return !(await library.run(() => sandbox.commands.kill(one.pid)));
  }

  async #follow(exec_id: string, one: TrackedExec, line: CommandStream): Promise<void> {
    const { library, sandbox, clock } = this.#deps;
    const { pid, tail } = one;
    const result = await followToEnd({ sandbox, clock, pid, tail }, line);
    const exit = exitOf(result);
    if (exit) this.#finish(one, exit);
    else this.#lose(exec_id, one, library.translated(result));
  }

  #finish(one: TrackedExec, exit: Omit<ExecExit, 'duration_ms'>): void {
    const now = this.#deps.clock.now();
    const { record, tail, settle, isTimedOut: isLate } = one;
    this.#deadlines.drop(record.exec_id);
    Object.assign(record, {
      state: 'exited',
      exit_code: isLate ? TIMED_OUT : exit.exit_code,
      ended_at: new Date(now).toISOString(),
      ...(exit.signal !== undefined && { signal: exit.signal }),
    });
    tail.end();
    settle.resolve({
      ...exit,
      timed_out: isLate,
      duration_ms: Math.max(0, now - Date.parse(record.started_at)),
    });
  }

  /** The command may still run: the next call, or its deadline, looks it up again. */
  #lose(exec_id: string, one: TrackedExec, error: unknown): void {
    if (one.record.state === 'exited') return;
    if (this.#all.get(exec_id) === one) this.#all.delete(exec_id);
    this.#isAdopted = false;
    one.tail.end();
    one.settle.reject(error);
  }
}

const MARK = /(?:^|\s)# svc:([A-Za-z0-9_-]{1,4096})$/;

/**
 * Stands at the end of a command's shell line, which the backend lists for running commands. It comes from inside the sandbox and
 * is trusted for that sandbox only.
 */
interface Marker {
  exec_id: string;
  label: string;
  /** Milliseconds since 1970; `ends` is its deadline. */
  began: number;
  ends?: number;
}

/** A comment for a shell, at the end of a line. */
function marked(line: string, marker: Marker): string {
  return `${line} # svc:${Buffer.from(JSON.stringify(marker)).toString('base64url')}`;
}

/** Undefined for a line without a marker, or with an invalid one. */
function markerIn(line: unknown): Marker | undefined {
  const [, text] = (typeof line === 'string' && MARK.exec(line.slice(-5000))) || [];
  if (text === undefined) return undefined;
  try {
    return checked(JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    return undefined;
  }
}

function checked(value: Record<string, unknown>): Marker | undefined {
  const { exec_id, label, began, ends } = value;
  if (typeof exec_id !== 'string' || !/^[A-Za-z0-9_-]{1,128}$/.test(exec_id)) return undefined;
  if (typeof label !== 'string' || !isMoment(began)) return undefined;
  return { exec_id, label, began, ...(isMoment(ends) && { ends }) };
}

/** Whether `value` is in the range of a Date. */
function isMoment(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= 8.64e15;
}
