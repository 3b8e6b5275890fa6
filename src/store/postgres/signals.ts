// Signals between processes by LISTEN and NOTIFY, with polling underneath. NOTIFY takes a lock of the entire server until its commit
// ends, so it is a statement of its own after the commit of what it is about, and many signals are sent together.
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import { SIGNAL_KINDS, type SignalKind, type SignalStore } from '../seam/signals.ts';
import type { Connection, Statement } from './connection.ts';
import type { Work } from './work.ts';

const CHANNEL = 'svc_signals';
/** The first signal is sent at once; those of so much time after it are sent together. */
const GATHER_MS = 5;
/** More at once: kinds are sent without their subjects. */
const MOST_PENDING = 100;
const EVENTS_EVERY_MS = 250;
const OTHERS_EVERY_MS = 1000;
const REOPEN_MS = 1000;

const NOTIFY: Statement = {
  name: 'notify',
  text: `SELECT pg_notify('${CHANNEL}', signal)::text FROM unnest($1::text[]) AS signal`,
};
const LISTEN: Statement = { name: 'listen', text: `LISTEN ${CHANNEL}` };
const NEWEST: Statement = { name: 'events-newest', text: 'SELECT last FROM event_ids' };

type Listener = (subject?: string) => void;

export interface SignalsDeps {
  work: Work;
  /** Opens a connection to the primary. */
  open(): Promise<Connection>;
  /** False: polling alone, behind poolers that cannot keep a session. */
  listen: boolean;
  clock: Clock;
  logger: Logger;
}

export class Signals implements SignalStore {
  readonly #deps: SignalsDeps;
  readonly #listeners = new Map<SignalKind, Set<Listener>>(SIGNAL_KINDS.map((kind) => [kind, new Set()]));
  readonly #pending = new Set<string>();
  readonly #closing = new AbortController();
  #gathering: Timer | undefined;
  #connection: Connection | undefined;
  #newest: number | undefined;
  #loops: Promise<unknown> = Promise.resolve();

  constructor(deps: SignalsDeps) {
    this.#deps = deps;
  }

  /** Until `close`. */
  start(): void {
    const loops = [this.#each(EVENTS_EVERY_MS, () => this.#lookAtEvents())];
    loops.push(this.#each(OTHERS_EVERY_MS, async () => this.#wakeOthers()));
    if (this.#deps.listen) loops.push(this.#each(REOPEN_MS, () => this.#listen()));
    this.#loops = Promise.all(loops);
  }

  send(kind: SignalKind, subject?: string): void {
    if (this.#closing.signal.aborted) return;
    const isFull = this.#pending.size >= MOST_PENDING;
    this.#pending.add(subject === undefined || isFull ? kind : `${kind} ${subject}`);
    this.#gatherFor(0);
  }

  on(kind: SignalKind, listener: Listener): () => void {
    const listeners = this.#listeners.get(kind);
    listeners?.add(listener);
    return () => void listeners?.delete(listener);
  }

  /** Sends what is pending, such as that this process has given its roles back. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#gathering?.cancel();
    this.#connection?.destroy();
    await Promise.all([this.#loops, this.#notify()]);
  }

  #gatherFor(ms: number): void {
    this.#gathering ??= this.#deps.clock.after(ms, () => void this.#flush());
  }

  /** One at a time. */
  async #flush(): Promise<void> {
    const isIdle = this.#pending.size === 0;
    await this.#notify();
    this.#gathering = undefined;
    if (!isIdle && !this.#closing.signal.aborted) this.#gatherFor(GATHER_MS);
  }

  /** A lost signal is made up for by polling. */
  async #notify(): Promise<void> {
    if (this.#pending.size === 0) return;
    const values = [[...this.#pending]];
    this.#pending.clear();
    await this.#deps.work.read({ ...NOTIFY, values }).catch(() => undefined);
  }

  /** Resolves when the connection has ended. What was sent before it was open is not known. */
  async #listen(): Promise<void> {
    const { open, logger } = this.#deps;
    try {
      const connection = await open();
      this.#connection = connection;
      const closed = new Promise<void>((resolve) => {
        connection.onClosed = resolve;
      });
      connection.onNotification = (payload) => this.#received(payload);
      await connection.run(LISTEN);
      if (this.#closing.signal.aborted) connection.destroy();
      this.#wakeAll();
      await closed;
    } catch (err) {
      logger.debug({ err }, 'Could not listen to signals of other servers; polling, and retrying.');
    }
  }

  #received(payload: string): void {
    const at = payload.indexOf(' ');
    const [kind, subject] = at < 0 ? [payload] : [payload.slice(0, at), payload.slice(at + 1)];
    this.#wake(kind as SignalKind, subject);
  }

  async #lookAtEvents(): Promise<void> {
    if (this.#listeners.get('events')?.size === 0) {
      this.#newest = undefined;
      return;
    }
    const [row] = await this.#deps.work.read<{ last: number }>(NEWEST).catch(() => []);
    if (row && row.last !== this.#newest) this.#wake('events');
    this.#newest = row?.last;
  }

  #wakeOthers(): void {
    for (const kind of SIGNAL_KINDS) if (kind !== 'events') this.#wake(kind);
  }

  #wakeAll(): void {
    for (const kind of SIGNAL_KINDS) this.#wake(kind);
  }

  /** Any user who may connect to the database can send a signal, so one that no listener understands must end nothing. */
  #wake(kind: SignalKind, subject?: string): void {
    for (const listener of this.#listeners.get(kind) ?? [])
      try {
        listener(subject);
      } catch (err) {
        this.#deps.logger.warn({ err, kind }, 'Ignored a malformed signal; polling finds what it was about.');
      }
  }

  async #each(ms: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await work();
      await this.#deps.clock.sleep(ms, signal).catch(() => undefined);
    }
  }
}
