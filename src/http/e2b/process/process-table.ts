// The processes that clients of this server started or follow, by sandbox. What a server that restarts forgets, the agent
// keeps (kept-processes.ts).
import type { Clock } from '../../../domain/ports.ts';
import type { Fields } from '../read-body.ts';
import { RpcFailure } from '../rpc/failure.ts';
import type { LiveProcess } from './live-process.ts';

/** How long the end of a process can still be asked for. */
export const KEPT_MS = 30_000;
const MOST_RUNNING = 256;
const MOST_ENDED = 256;

export class ProcessTable {
  readonly #clock: Clock;
  readonly #bySandbox = new Map<string, Set<LiveProcess>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws `resource_exhausted` where too many run. */
  requireRoom(sandbox_id: string): void {
    if (this.running(sandbox_id).length >= MOST_RUNNING)
      throw new RpcFailure('resource_exhausted', `more than ${MOST_RUNNING} processes run in this sandbox`);
  }

  add(sandbox_id: string, process: LiveProcess): void {
    const all = this.#bySandbox.get(sandbox_id) ?? new Set();
    this.#bySandbox.set(sandbox_id, all);
    all.add(process);
    void process.ended.then(() => {
      this.#clock.after(KEPT_MS, () => this.#drop(sandbox_id, process));
      const ended = [...all].filter(({ isRunning }) => !isRunning);
      if (ended[MOST_ENDED]) this.#drop(sandbox_id, ended[0] as LiveProcess);
    });
  }

  running(sandbox_id: string): LiveProcess[] {
    return [...(this.#bySandbox.get(sandbox_id) ?? [])].filter(({ isRunning }) => isRunning);
  }

  /** Finds the newest process with this pid or tag; `withEnded` includes those that ended lately. Throws `not_found`. */
  find(sandbox_id: string, selector: Fields | undefined, { withEnded = false } = {}): LiveProcess {
    const [pid, tag] = [selector?.number('pid'), selector?.text('tag')];
    if (pid === undefined && tag === undefined)
      throw new RpcFailure('invalid_argument', 'process must name a pid or a tag');
    const all = [...(this.#bySandbox.get(sandbox_id) ?? [])].reverse();
    const found = all.find(
      ({ facts, isRunning }) =>
        (isRunning || withEnded) && (pid === undefined ? facts.tag === tag : facts.pid === pid),
    );
    if (found) return found;
    const named = pid === undefined ? `tag ${tag?.slice(0, 128)}` : `pid ${pid}`;
    throw new RpcFailure('not_found', `process with ${named} not found`);
  }

  #drop(sandbox_id: string, process: LiveProcess): void {
    const all = this.#bySandbox.get(sandbox_id);
    all?.delete(process);
    if (all?.size === 0) this.#bySandbox.delete(sandbox_id);
  }
}
