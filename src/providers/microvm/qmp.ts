// A connection to QEMU's monitor (docs: QEMU Machine Protocol). QEMU serves one at a time: the kernel accepts a second one, but
// QEMU greets it only after the first has ended, so keep none open for long.
import { createConnection, type Socket } from 'node:net';
import { LineSplitter } from '../../domain/byte-lines.ts';
import { type JsonLineFormat, objectLine, readJsonLine } from '../../domain/json-lines.ts';
import { ONE_THING } from '../../domain/json-reading.ts';
import type { Clock } from '../../domain/ports.ts';
import { MonitorRefusal, monitorGarbled, monitorLost, monitorSlow } from './qmp-faults.ts';

const DEFAULT_MS = 5000;

interface QmpBounds {
  /** For the answer, in ms; 5,000 unless given. */
  ms?: number;
  signal?: AbortSignal;
}

type QmpListener = (name: string, fields: Record<string, unknown>) => void;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

export class Qmp {
  readonly #clock: Clock;
  readonly #socket: Socket;
  readonly #lines = new QmpLines();
  readonly #waiting = new Map<number, Waiting & { command: string }>();
  readonly #listeners = new Set<QmpListener>();
  #lastId = 0;
  #fault: unknown;
  /** Resolves once the connection is over, whoever ended it. Never rejects. */
  readonly ended: Promise<void>;

  /**
   * Connects, awaits the greeting and leaves negotiation: commands may follow. Throws `unavailable` when nobody listens
   * or nobody greets in time, `provider_error` for what speaks something else, the signal's reason on abort.
   */
  static async open(clock: Clock, path: string, bounds: QmpBounds = {}): Promise<Qmp> {
    bounds.signal?.throwIfAborted();
    const qmp = new Qmp(clock, createConnection(path));
    try {
      await qmp.#answered('greeting', 0, bounds);
      await qmp.execute('qmp_capabilities', undefined, bounds);
      return qmp;
    } catch (error) {
      qmp.close();
      throw error;
    }
  }

  private constructor(clock: Clock, socket: Socket) {
    this.#clock = clock;
    this.#socket = socket;
    this.ended = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#end(monitorLost(error)));
    socket.on('close', () => this.#end(monitorLost(new Error('the monitor hung up'))));
  }

  /**
   * The result of `command`. Throws MonitorRefusal when the monitor refuses, `unavailable` when the connection ends or no
   * answer arrives in time (the command may still run), the signal's reason on abort.
   */
  async execute(command: string, args?: object, bounds: QmpBounds = {}): Promise<unknown> {
    bounds.signal?.throwIfAborted();
    const id = ++this.#lastId;
    const answer = this.#answered(command, id, bounds);
    const order = { execute: command, ...(args && { arguments: args }), id };
    this.#socket.write(`${JSON.stringify(order)}\n`);
    return answer;
  }

  /** `listener` receives each event from now on, until the returned function is called. */
  listen(listener: QmpListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends the connection, not the machine. Idempotent. */
  close(): void {
    this.#end(monitorLost(new Error('the connection was closed')));
  }

  #answered(command: string, id: number, { ms = DEFAULT_MS, signal }: QmpBounds): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#fault !== undefined) return reject(this.#fault);
      const abort = () => this.#waiting.get(id)?.reject(signal?.reason);
      const timer = this.#clock.after(ms, () => this.#waiting.get(id)?.reject(monitorSlow(command, ms)));
      const settled = () => {
        this.#waiting.delete(id);
        timer.cancel();
        signal?.removeEventListener('abort', abort);
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.set(id, {
        command,
        resolve: (value) => {
          settled();
          resolve(value);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
    });
  }

  #take(chunk: Buffer): void {
    try {
      for (const message of this.#lines.take(chunk)) this.#heed(message);
    } catch (error) {
      this.#end(error);
    }
  }

  #heed(message: QmpMessage): void {
    if (message.kind === 'event') {
      for (const listener of this.#listeners) listener(message.name, message.fields);
      return;
    }
    const id = message.kind === 'greeting' ? 0 : message.id;
    const waiting = this.#waiting.get(id);
    // A late answer to an abandoned command.
    if (!waiting && id > 0 && id <= this.#lastId) return;
    if (!waiting || (id === 0) !== (message.kind === 'greeting'))
      throw monitorGarbled('an answer without a request');
    if (message.kind === 'refusal') waiting.reject(new MonitorRefusal(waiting.command, message.words));
    else waiting.resolve(message.kind === 'answer' ? message.value : undefined);
  }

  #end(fault: unknown): void {
    if (this.#fault !== undefined) return;
    this.#fault = fault;
    this.#socket.destroy();
    this.#listeners.clear();
    for (const waiting of [...this.#waiting.values()]) waiting.reject(fault);
  }
}

const FORMAT: JsonLineFormat<Record<string, unknown>> = {
  /** Far above the longest answer to a command of ours. */
  bytes: 256 * 1024,
  structure: ONE_THING,
  tooLong: () => monitorGarbled('a line without an end'),
  read: objectLine,
  invalid: (cause) => monitorGarbled('a line is not an object', cause),
};

type QmpMessage =
  | { kind: 'greeting' }
  | { kind: 'event'; name: string; fields: Record<string, unknown> }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'refusal'; id: number; words: string };

/**
 * Takes chunks and returns the complete messages. A guest that has taken over its monitor can write them: each line has a bound,
 * and an unknown message throws `provider_error`.
 */
export class QmpLines {
  readonly #lines = new LineSplitter(FORMAT);

  take(chunk: Buffer): QmpMessage[] {
    return [...this.#lines.take(chunk)].map(parseMessage);
  }
}

function parseMessage(line: Buffer): QmpMessage {
  const message = readJsonLine(line, FORMAT);
  if (message.QMP !== undefined) return { kind: 'greeting' };
  if (typeof message.event === 'string')
    return { kind: 'event', name: message.event, fields: fieldsOf(message.data) };
  const id = typeof message.id === 'number' ? message.id : -1;
  if ('return' in message) return { kind: 'answer', id, value: message.return };
  if ('error' in message) return { kind: 'refusal', id, words: wordsOf(fieldsOf(message.error)) };
  throw monitorGarbled('an unknown kind of message');
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function wordsOf({ class: name, desc }: Record<string, unknown>): string {
  return `${typeof name === 'string' ? name : 'unknown'}: ${typeof desc === 'string' ? desc : ''}`;
}
