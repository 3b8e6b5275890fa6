// A link to the outgoing connections of a sandbox on its worker: JSON lines over an upgraded connection (schema/worker-egress.ts).
import type { Duplex } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { jsonLines } from '../../domain/json-lines.ts';
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import { validator } from '../../schema/validator.ts';
import {
  EGRESS_LINE_BYTES,
  EGRESS_REPORT_MS,
  EGRESS_SILENT_MS,
  EGRESS_STRUCTURE,
  EgressAnswer,
  type EgressCall,
} from '../../schema/worker-egress.ts';
import type { EgressLink, EgressNews, RemoteWorker } from '../provider.ts';
import { refused } from './call.ts';

const ANSWER_MS = 30_000;

const answerFault = validator(EgressAnswer, 'The line');
const FORMAT = {
  bytes: EGRESS_LINE_BYTES,
  structure: EGRESS_STRUCTURE,
  tooLong: () => new Error('The line is too long.'),
  read: (value: unknown): EgressAnswer => {
    const fault = answerFault(value);
    if (fault !== undefined) throw new Error(fault);
    return value as EgressAnswer;
  },
  invalid: (cause: unknown) => cause,
};

interface LinkDeps {
  worker: Pick<RemoteWorker, 'id'>;
  clock: Clock;
  logger: Logger;
  onNews(news: EgressNews): void;
}

interface Waiting {
  resolve(answer: EgressAnswer): void;
  reject(error: unknown): void;
  timer: Timer;
}

export class RemoteEgressLink implements EgressLink {
  readonly closed: Promise<void>;
  readonly #stream: Duplex;
  readonly #deps: LinkDeps;
  readonly #waiting = new Map<number, Waiting>();
  #last = 0;
  #isOver = false;
  #silence: Timer;
  #beat: Timer;

  /** Owns the stream. */
  constructor(stream: Duplex, deps: LinkDeps) {
    this.#stream = stream.on('error', () => undefined);
    this.#deps = deps;
    this.#silence = this.#watch();
    this.#beat = this.#beatLater();
    this.closed = this.#read();
  }

  call(ask: Omit<EgressCall, 'id'>): Promise<EgressAnswer> {
    if (this.#isOver) return Promise.reject(this.#lost());
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const timer = this.#deps.clock.after(ANSWER_MS, () => this.#stream.destroy());
      this.#waiting.set(id, { resolve, reject, timer });
      this.#stream.write(`${JSON.stringify({ id, ...ask })}\n`);
    });
  }

  close(): void {
    this.#stream.destroy();
  }

  /** Until the link ends. Never rejects. */
  async #read(): Promise<void> {
    try {
      for await (const answer of jsonLines(this.#stream, FORMAT)) this.#take(answer);
    } catch (err) {
      this.#deps.logger.debug({ worker_id: this.#deps.worker.id, err }, 'A link to an egress gate ended.');
    }
    this.#isOver = true;
    this.#silence.cancel();
    this.#beat.cancel();
    this.#stream.destroy();
    for (const { reject, timer } of this.#waiting.values()) {
      timer.cancel();
      reject(this.#lost());
    }
    this.#waiting.clear();
  }

  #take(answer: EgressAnswer): void {
    this.#silence.cancel();
    this.#silence = this.#watch();
    const { id, error } = answer;
    if (id === undefined) {
      this.#deps.onNews(answer);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.timer.cancel();
    if (error) waiting?.reject(refused(this.#deps.worker.id, error.code, error.message));
    else waiting?.resolve(answer);
  }

  #watch(): Timer {
    return this.#deps.clock.after(EGRESS_SILENT_MS, () => this.#stream.destroy());
  }

  #beatLater(): Timer {
    return this.#deps.clock.after(EGRESS_REPORT_MS, () => {
      this.call({ beat: true }).catch(() => undefined);
      this.#beat = this.#beatLater();
    });
  }

  #lost(): ServiceError {
    const { id } = this.#deps.worker;
    return new ServiceError('unavailable', `The egress link to worker ${id} has ended.`, {
      remedy: 'Try again.',
      details: { worker_id: id },
      retryAfterMs: 1000,
    });
  }
}
