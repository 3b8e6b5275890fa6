// A link of a control plane to the outgoing connections of one sandbox: calls and answers as JSON lines (schema/worker-egress.ts).
import type { Duplex } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import { jsonLines } from '../domain/json-lines.ts';
import type { Clock, Logger, Timer } from '../domain/ports.ts';
import type { EgressGate } from '../egress/egress.ts';
import { toServiceError } from '../http/errors.ts';
import { validator } from '../schema/validator.ts';
import {
  EGRESS_LINE_BYTES,
  EGRESS_REPORT_MS,
  EGRESS_SILENT_MS,
  EGRESS_STRUCTURE,
  type EgressAnswer,
  EgressCall,
} from '../schema/worker-egress.ts';
import type { EgressReader, WorkerEgress } from './worker-egress.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

/** Unread bytes that end a link. */
const MOST_UNREAD = 8 * 1024 * 1024;
/** Calls of one link at once. */
const AT_ONCE = 16;

const callFault = validator(EgressCall, 'The call');
const FORMAT = {
  bytes: EGRESS_LINE_BYTES,
  structure: EGRESS_STRUCTURE,
  tooLong: () => new Error('The call is too long.'),
  read: (value: unknown): EgressCall => {
    const fault = callFault(value);
    if (fault !== undefined) throw new Error(fault);
    return value as EgressCall;
  },
  invalid: (cause: unknown) => cause,
};

export interface EgressLinkDeps {
  egress: WorkerEgress;
  clock: Clock;
  logger: Logger;
}

/** Until the link ends. Never rejects: a caller that breaks the protocol loses its link. */
export async function serveEgress(
  stream: Duplex,
  sandbox: WorkerSandbox,
  deps: EgressLinkDeps,
): Promise<void> {
  const link = new ServedLink(stream, sandbox, deps);
  try {
    await link.serve();
  } catch (err) {
    deps.logger.debug({ sandbox_id: sandbox.record.sandbox_id, err }, 'An egress link ended with a fault.');
  } finally {
    link.end();
  }
}

class ServedLink implements EgressReader {
  readonly #stream: Duplex;
  readonly #sandbox: WorkerSandbox;
  readonly #deps: EgressLinkDeps;
  readonly #running = new Set<Promise<void>>();
  #following: AbortController | undefined;
  /** Orders are applied one after the other. */
  #applied: Promise<unknown> = Promise.resolve();
  #leave: () => void = () => undefined;
  #timer: Timer | undefined;
  #silence: Timer | undefined;
  #isOver = false;

  constructor(stream: Duplex, sandbox: WorkerSandbox, deps: EgressLinkDeps) {
    this.#stream = stream.on('error', () => undefined);
    this.#sandbox = sandbox;
    this.#deps = deps;
  }

  get #id(): string {
    return this.#sandbox.record.sandbox_id;
  }

  async serve(): Promise<void> {
    this.#join();
    this.#report();
    for await (const call of jsonLines(this.#stream, FORMAT)) {
      this.#heard(call);
      const answering = this.#answer(call).finally(() => this.#running.delete(answering));
      this.#running.add(answering);
      if (this.#running.size >= AT_ONCE) await Promise.race(this.#running);
    }
  }

  send(news: EgressAnswer): void {
    if (this.#stream.destroyed) return;
    this.#stream.write(`${JSON.stringify(news)}\n`);
    if (this.#stream.writableLength > MOST_UNREAD) this.#stream.destroy();
  }

  /** Idempotent. */
  end(): void {
    this.#isOver = true;
    this.#timer?.cancel();
    this.#silence?.cancel();
    this.#following?.abort();
    this.#leave();
    this.#stream.destroy();
  }

  #join(): void {
    // A link that ended meanwhile would stay the newest reader.
    if (this.#isOver || this.#stream.destroyed) return;
    this.#leave = this.#deps.egress.read(this.#id, this);
  }

  /** Control planes of an earlier version send no beats. */
  #heard({ beat = false }: EgressCall): void {
    if (!beat && !this.#silence) return;
    this.#silence?.cancel();
    this.#silence = this.#deps.clock.after(EGRESS_SILENT_MS, () => this.end());
  }

  #report(): void {
    const report = this.#deps.egress.report(this.#id, this);
    this.send(report ? { report } : {});
    this.#timer = this.#deps.clock.after(EGRESS_REPORT_MS, () => this.#report());
  }

  /** Never rejects. */
  async #answer({ id, ...call }: EgressCall): Promise<void> {
    try {
      const answer = await this.#perform(call);
      const report = this.#deps.egress.report(this.#id, this);
      this.send({ id, ...answer, ...(report && { report }) });
    } catch (error) {
      const { code, message } = toServiceError(error);
      this.send({ id, error: { code, message } });
    }
  }

  async #perform({ apply, after, end, check, log, follow }: Omit<EgressCall, 'id'>): Promise<EgressAnswer> {
    const { egress } = this.#deps;
    if (apply) {
      const isApplied = await this.#apply(apply, after);
      this.#join();
      return isApplied ? {} : { outrun: true };
    }
    if (end) egress.close(this.#id);
    if (check) return { check: await egress.gate(this.#id).check(check.host, check.port) };
    if (log) return { log: egress.gate(this.#id).log(log) };
    if (follow !== undefined) this.#follow(follow);
    return {};
  }

  #apply(order: NonNullable<EgressCall['apply']>, after: number | undefined): Promise<boolean> {
    const next = () => {
      if (this.#stream.destroyed) throw new ServiceError('unavailable', 'The link has ended.');
      return this.#deps.egress.apply(this.#sandbox, order, after);
    };
    const applied = this.#applied.then(next, next);
    this.#applied = applied.catch(() => undefined);
    return applied;
  }

  #follow(isWanted: boolean): void {
    if (isWanted === (this.#following !== undefined)) return;
    // Throws while there is no order, and nothing has changed then.
    const gate = this.#deps.egress.gate(this.#id);
    this.#following?.abort();
    this.#following = isWanted ? new AbortController() : undefined;
    const signal = this.#following?.signal;
    // The link may end within a line.
    if (signal) this.#lines(gate, signal).catch(() => undefined);
  }

  /** A reader that is slow misses the oldest lines. */
  async #lines(gate: EgressGate, signal: AbortSignal): Promise<void> {
    for await (const line of gate.follow(signal)) {
      this.send({ line });
      if (this.#stream.writableNeedDrain) await this.#drained();
    }
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#stream.off('drain', done).off('close', done);
        resolve();
      };
      this.#stream.once('drain', done).once('close', done);
    });
  }
}
