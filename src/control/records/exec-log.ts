// Records commands: who ran what, with arguments and without secrets, as long as the sandbox's row is kept. Written in
// batches off the path of calls; a kill may lose what waits here.
import type { Clock, Logger } from '../../domain/ports.ts';
import { BatchWriter, type Writer } from '../../events/batch-writer.ts';
import type { ExecRequest } from '../../schema/exec.ts';
import { LONGEST_COMMAND, MOST_LISTED } from '../../schema/exec.ts';
import type { ExecStore, StoredExec } from '../../store/seam/execs.ts';

const WAITING_LIMIT = 10_000;
const LINGER_MS = 50;
/** Longer command lines are read up to here; redaction and the cut to LONGEST_COMMAND come after. */
const MOST_READ = 16_384;

export interface ExecLogDeps {
  execs: Pick<ExecStore, 'record' | 'list'>;
  clock: Clock;
  logger: Logger;
  /** Copies without secrets. */
  redact(value: unknown): unknown;
}

/** How a command ended; `exit_code` is negative while it runs on. */
export interface ExecEnd {
  exit_code: number;
  signal?: string | undefined;
}

/** Call it once at the end; without an exit the command could not run or its end is unknown. */
export type NoteEnd = (exit?: ExecEnd) => void;

export class ExecLog {
  readonly #deps: ExecLogDeps;
  readonly #writer: Writer<StoredExec>;

  constructor(deps: ExecLogDeps) {
    this.#deps = deps;
    this.#writer = new BatchWriter<StoredExec>({
      append: (execs) => deps.execs.record(newest(execs)),
      limit: WAITING_LIMIT,
      lingerMs: LINGER_MS,
      what: 'exec records',
      clock: deps.clock,
      logger: deps.logger,
    });
  }

  /** A command has started. Returns at once; never throws. */
  started(
    ids: Pick<StoredExec, 'sandbox_id' | 'exec_id'>,
    request: Pick<ExecRequest, 'command' | 'args' | 'detach'>,
    actor: string,
  ): NoteEnd {
    const exec: StoredExec = {
      ...ids,
      command: this.shown(request),
      detached: request.detach === true,
      actor,
      started_at: this.#now(),
    };
    this.#writer.publish(exec);
    return (exit) => {
      if (exit && exit.exit_code < 0) return;
      const { exit_code, signal } = exit ?? {};
      this.#writer.publish({
        ...exec,
        ended_at: this.#now(),
        ...(exit_code !== undefined && { exit_code }),
        ...(signal !== undefined && { signal }),
      });
    };
  }

  /** The command with its arguments, without secrets and bounded. */
  shown({ command, args = [] }: Pick<ExecRequest, 'command' | 'args'>): string {
    let text = command.slice(0, MOST_READ);
    for (const arg of args) {
      if (text.length >= MOST_READ) break;
      text += ` ${arg.slice(0, MOST_READ)}`;
    }
    const clean = String(this.#deps.redact(text));
    return clean.length <= LONGEST_COMMAND ? clean : `${clean.slice(0, LONGEST_COMMAND - 1)}…`;
  }

  /** Newest first, including everything recorded before the call. */
  async list(sandbox_id: string): Promise<StoredExec[]> {
    await this.#writer.flush();
    return this.#deps.execs.list(sandbox_id, MOST_LISTED);
  }

  /** Writes waiting records; later records are dropped. */
  close(): Promise<void> {
    return this.#writer.close();
  }

  #now(): string {
    return new Date(this.#deps.clock.now()).toISOString();
  }
}

/** A short command starts and ends in one batch: its last record says everything. */
function newest(execs: readonly StoredExec[]): StoredExec[] {
  const byId = new Map<string, StoredExec>();
  for (const exec of execs) byId.set(`${exec.sandbox_id} ${exec.exec_id}`, exec);
  return [...byId.values()];
}
