// Processes that outlived the server that started them, or that another server started: the agent keeps them, and in a note what
// their clients know of them. A sandbox may say anything there.
import type { ControlPlane } from '../../../control/api/control-plane.ts';
import type { KeptItem } from '../../../control/api/execs.ts';
import { asServiceError } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/ports.ts';
import type { Fields } from '../read-body.ts';
import { RpcFailure } from '../rpc/failure.ts';
import type { RpcCall } from '../rpc/rpc.ts';
import { LiveProcess, type ProcessFacts } from './live-process.ts';
import { KEPT_MS, type ProcessTable } from './process-table.ts';

const MOST_NOTE = 1024;
/** In place of arguments that the note has no room for. */
const CUT = '…';

/** Arguments are left out from the end where all do not fit. */
export function noteOf({ config, tag, isPty }: Pick<ProcessFacts, 'config' | 'tag' | 'isPty'>): string {
  const { cmd, args, cwd } = config;
  const write = (count: number) =>
    JSON.stringify({
      cmd,
      args: count < args.length ? [...args.slice(0, count), CUT] : args,
      cwd,
      tag,
      pty: isPty,
    });
  for (let count = args.length; count >= 0; count--) {
    const note = write(count);
    if (Buffer.byteLength(note) <= MOST_NOTE) return note;
  }
  return JSON.stringify({ cmd: CUT, args: [], pty: isPty });
}

interface Kept {
  exec_id: string;
  facts: ProcessFacts;
  isRunning: boolean;
}

export class KeptProcesses {
  readonly #control: Pick<ControlPlane, 'exec'>;
  readonly #table: ProcessTable;
  readonly #clock: Clock;
  readonly #resuming = new Map<string, Promise<LiveProcess>>();

  constructor(control: Pick<ControlPlane, 'exec'>, table: ProcessTable, clock: Clock) {
    this.#control = control;
    this.#table = table;
    this.#clock = clock;
  }

  /** Those that run, whoever started them. */
  async running(call: RpcCall): Promise<ProcessFacts[]> {
    const here = this.#table.running(call.sandbox_id);
    const known = new Set(here.map(({ exec_id }) => exec_id));
    const others = (await this.#others(call)).filter((one) => one.isRunning && !known.has(one.exec_id));
    return [...here, ...others].map(({ facts }) => facts);
  }

  /** The newest with this pid or tag; `withEnded` includes those that ended lately. Throws `not_found`. */
  async find(call: RpcCall, selector: Fields | undefined, { withEnded = false } = {}): Promise<LiveProcess> {
    const { sandbox_id } = call;
    try {
      return this.#table.find(sandbox_id, selector, { withEnded });
    } catch (error) {
      if (!(error instanceof RpcFailure) || error.code !== 'not_found') throw error;
      const [pid, tag] = [selector?.number('pid'), selector?.text('tag')];
      const found = (await this.#others(call)).find(
        ({ facts, isRunning }) =>
          (isRunning || withEnded) && (pid === undefined ? facts.tag === tag : facts.pid === pid),
      );
      if (!found) throw error;
      return this.#resume(call, found);
    }
  }

  /** Newest first. */
  async #others({ sandbox_id, caller, signal }: RpcCall): Promise<Kept[]> {
    const items = await this.#control.exec.kept(sandbox_id, caller, signal);
    return items.flatMap((item) => this.#read(item)).reverse();
  }

  #read(item: KeptItem): Kept[] {
    const { exec_id, pid, hasInput, state, ended_at } = item;
    const isRunning = state === 'running';
    if (!isRunning && !(Date.parse(ended_at ?? '') > this.#clock.now() - KEPT_MS)) return [];
    const told = readNote(item.note);
    return told ? [{ exec_id, isRunning, facts: { ...told, pid, hasInput: hasInput || told.isPty } }] : [];
  }

  #resume(call: RpcCall, kept: Kept): Promise<LiveProcess> {
    const key = `${call.sandbox_id} ${kept.exec_id}`;
    const before = this.#resuming.get(key);
    const work = before ?? this.#resumed(call, kept).finally(() => this.#resuming.delete(key));
    this.#resuming.set(key, work);
    return work;
  }

  async #resumed({ sandbox_id, caller }: RpcCall, { exec_id, facts }: Kept): Promise<LiveProcess> {
    const { signal } = new AbortController();
    const exec = await this.#control.exec
      .resume({ id: sandbox_id, exec_id }, caller, signal)
      .catch((error: unknown) => {
        if (asServiceError(error).code !== 'not_found') throw error;
        throw new RpcFailure('not_found', `process with pid ${facts.pid} not found`);
      });
    const resumed = { isTruncated: exec.truncated };
    const process = new LiveProcess(exec, facts, { clock: this.#clock, deadlineMs: 0, resumed });
    this.#table.add(sandbox_id, process);
    return process;
  }
}

/** Undefined for a note that is none of ours. */
function readNote(note: string): Omit<ProcessFacts, 'pid' | 'hasInput'> | undefined {
  try {
    const { cmd, args, cwd, tag, pty } = JSON.parse(note) as Record<string, unknown>;
    if (typeof cmd !== 'string' || !Array.isArray(args) || !args.every(isText)) return undefined;
    return {
      config: { cmd, args, envs: {}, ...(isText(cwd) && { cwd }) },
      tag: isText(tag) ? tag : undefined,
      isPty: pty === true,
    };
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
