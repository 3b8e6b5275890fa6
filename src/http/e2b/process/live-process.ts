// A process that a client started: it lives on when its clients leave, and several may follow it. What nobody follows is
// dropped; a follower that does not read holds the process back.
import { setImmediate } from 'node:timers/promises';
import type { LiveExec } from '../../../control/api/execs.ts';
import { asServiceError } from '../../../domain/errors.ts';
import type { Clock, Timer } from '../../../domain/ports.ts';
import { RpcFailure } from '../rpc/failure.ts';
import type { MessageStream } from '../rpc/rpc.ts';

/** The longest piece of output in one message. */
const PIECE = 32 * 1024;
/** In place of output that nobody followed and that was more than is kept. */
const DROPPED = Buffer.from('[svc: earlier output was dropped]\n');
const BROKEN = ['unavailable', 'not_found'];

export interface ProcessConfig {
  cmd: string;
  args: string[];
  envs: Record<string, string>;
  cwd?: string;
}

export interface ProcessFacts {
  pid: number;
  tag?: string | undefined;
  config: ProcessConfig;
  isPty: boolean;
  hasInput: boolean;
}

/** How it ended: an exit, a deadline, or a sandbox that is no more. */
type End = { event: object } | { failure: RpcFailure } | 'lost';

/** What is given beside the exec and its facts. */
export interface Course {
  clock: Clock;
  /** When it is killed; 0 never, or the agent alone knows. */
  deadlineMs: number;
  /** Set for one that another server started, or this one before it lost the sandbox. */
  resumed?: { isTruncated: boolean };
}

interface Follower {
  stream: MessageStream;
  done(end: End): void;
}

export class LiveProcess {
  readonly facts: ProcessFacts;
  readonly ended: Promise<void>;
  readonly #exec: LiveExec;
  readonly #followers = new Set<Follower>();
  #end: End | undefined;
  #isInputOpen: boolean;
  #input: Promise<unknown> = Promise.resolve();
  #deadline: Timer | undefined;

  constructor(exec: LiveExec, facts: ProcessFacts, { clock, deadlineMs, resumed }: Course) {
    this.#exec = exec;
    this.facts = facts;
    this.#isInputOpen = facts.hasInput;
    this.ended = this.#run(resumed);
    if (deadlineMs > 0) this.#deadline = clock.after(deadlineMs, () => this.#expire());
  }

  get exec_id(): string {
    return this.#exec.exec_id;
  }

  get isRunning(): boolean {
    return this.#end === undefined;
  }

  /**
   * Sends its start, its output from now on and its end; resolves after the end, or once the client has left. Throws RpcFailure
   * where it did not end by itself.
   */
  async follow(stream: MessageStream, signal: AbortSignal): Promise<void> {
    const sent = stream.write({ event: { start: { pid: this.facts.pid } } });
    const end = this.#end ?? (await this.#endSeenBy(stream, signal));
    await sent;
    if (end === undefined) return;
    if (end === 'lost') return stream.cut();
    if ('failure' in end) throw end.failure;
    await stream.write({ event: { end: end.event } });
  }

  #endSeenBy(stream: MessageStream, signal: AbortSignal): Promise<End | undefined> {
    return new Promise((resolve) => {
      const leave = () => {
        this.#followers.delete(follower);
        resolve(undefined);
      };
      const follower: Follower = {
        stream,
        done: (end) => {
          signal.removeEventListener('abort', leave);
          resolve(end);
        },
      };
      this.#followers.add(follower);
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Input reaches the program in the order of the calls. Throws RpcFailure where there is none to send to. */
  async write(data: Buffer, isForPty: boolean): Promise<void> {
    const { pid } = this.facts;
    if (isForPty !== this.facts.isPty)
      throw new RpcFailure('internal', `tty ${isForPty ? 'not ' : ''}assigned to process — ${pid}`);
    if (!this.#isInputOpen) throw new RpcFailure('internal', 'stdin not enabled or closed');
    const written = this.#input.then(() => this.#exec.stdin.write(data));
    this.#input = written.catch(() => undefined);
    await written;
  }

  /** Idempotent. */
  async closeInput(): Promise<void> {
    if (this.facts.isPty)
      throw new RpcFailure('unknown', 'the input of a terminal cannot be closed; send Ctrl+D to it');
    if (!this.#isInputOpen) return;
    this.#isInputOpen = false;
    await this.#input;
    this.#exec.stdin.end();
  }

  async resize(rows: number, cols: number): Promise<void> {
    if (!this.facts.isPty)
      throw new RpcFailure('internal', `tty not assigned to process — ${this.facts.pid}`);
    await this.#exec.resize(rows, cols);
  }

  /** Resolves once it has ended, for a signal that nothing survives. */
  async signal(name: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.#exec.signal(name);
    if (name === 'SIGKILL') await this.ended;
  }

  async #run(resumed: Course['resumed']): Promise<void> {
    try {
      // Whoever asked for it follows it by then.
      if (resumed) await setImmediate();
      if (resumed?.isTruncated) await this.#send('stderr', DROPPED);
      for await (const { channel, data } of this.#exec.output) await this.#send(channel, data);
      const { exit_code, signal, timed_out } = await this.#exec.exit;
      // The agent keeps the deadline, too, and may be the first.
      this.#finish(timed_out ? { failure: deadlineOver() } : { event: endOf(exit_code, signal) });
    } catch (error) {
      const { code, message } = asServiceError(error);
      this.#finish(BROKEN.includes(code) ? 'lost' : { failure: new RpcFailure('internal', message) });
    }
  }

  async #send(channel: 'stdout' | 'stderr', data: Buffer): Promise<void> {
    for (let at = 0; at < data.length && this.#followers.size > 0; at += PIECE) {
      const text = data.subarray(at, at + PIECE).toString('base64');
      const message = { event: { data: { [this.facts.isPty ? 'pty' : channel]: text } } };
      await Promise.all([...this.#followers].map(({ stream }) => stream.write(message)));
    }
  }

  #expire(): void {
    void this.#exec.signal('SIGKILL').catch(() => undefined);
    this.#finish({ failure: deadlineOver() });
  }

  #finish(end: End): void {
    if (this.#end !== undefined) return;
    this.#deadline?.cancel();
    this.#end = end;
    for (const follower of this.#followers) follower.done(end);
    this.#followers.clear();
  }
}

function deadlineOver(): RpcFailure {
  return new RpcFailure('deadline_exceeded', 'the command was stopped at its deadline');
}

const SIGNAL_WORDS: Record<string, string> = {
  SIGKILL: 'killed',
  SIGTERM: 'terminated',
  SIGINT: 'interrupt',
  SIGHUP: 'hangup',
  SIGQUIT: 'quit',
  SIGABRT: 'aborted',
  SIGSEGV: 'segmentation fault',
  SIGPIPE: 'broken pipe',
};

/** As Go describes the end of a process. */
function endOf(exitCode: number, signal: string | undefined): object {
  if (signal !== undefined) {
    const status = `signal: ${SIGNAL_WORDS[signal] ?? signal.replace(/^SIG/, '').toLowerCase()}`;
    return { exitCode: -1, exited: false, status, error: status };
  }
  const status = `exit status ${exitCode}`;
  return { exitCode, exited: true, status, ...(exitCode !== 0 && { error: status }) };
}
