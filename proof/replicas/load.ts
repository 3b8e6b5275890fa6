// Clients of a fleet under faults, and what they were told: each repeats a call until it is answered, as the documents say, with an
// idempotency key where one is needed.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '../../src/client/client.ts';
import { asServiceError } from '../../src/domain/errors.ts';
import { API_KEY } from './ground.ts';

/** A call that hangs for longer is a finding. */
const LONGEST_CALL_MS = 60_000;
/** A call is repeated for so long. */
const PATIENCE_MS = 120_000;
/** Together they want more than the cap, so that spawns wait; what they keep leaves room for another. */
const OWNERS = ['ann', 'ben', 'cat', 'dan', 'eve'] as const;
const MOST_LIVE = 2;

/** What faults lead to, and the client is to repeat; and caps, which other clients' sandboxes fill. */
const REPEATED = ['unavailable', 'timeout', 'resource_limit'];
/** What a command may meet whose server or worker has a fault. */
const OF_FAULTS = ['unavailable', 'timeout', 'conflict', 'not_found'];

export class Load {
  /** Ids that were given out and may not end, and ids whose end was confirmed. */
  readonly live = new Set<string>();
  readonly ended = new Set<string>();
  /** What was answered for each key. */
  readonly keyed = new Map<string, Set<string>>();
  /** Answers that no fault explains, and calls that hung. */
  readonly surprises: string[] = [];
  calls = 0;
  readonly #client: Client;
  /** What each owner has, the oldest first. */
  readonly #owned = new Map<string, string[]>(OWNERS.map((owner) => [owner, []]));
  #isAtWork = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(url: string) {
    this.#client = new Client({ server: url, apiKey: API_KEY, retry: false });
  }

  /** Until `rest`, and then on with the sandboxes that there are. */
  start(): void {
    this.#isAtWork = true;
    this.#running = Promise.all([...this.#owned].map(([owner, own]) => this.#owner(owner, own)));
  }

  /** Resolves when each client has its last answer. */
  async rest(): Promise<void> {
    this.#isAtWork = false;
    await this.#running;
  }

  async close(): Promise<void> {
    await this.rest();
    await this.#client.close();
  }

  async #owner(owner_id: string, own: string[]): Promise<void> {
    while (this.#isAtWork) {
      const id = await this.#spawn(owner_id);
      if (id === undefined) return;
      own.push(id);
      await this.#command(id);
      if (own.length > MOST_LIVE) await this.#destroy(own.shift() ?? '');
    }
  }

  /** A sandbox, by one key however often it is asked for. */
  async #spawn(owner_id: string): Promise<string | undefined> {
    const key = randomUUID();
    const given = new Set<string>();
    this.keyed.set(key, given);
    const spawn = async () => {
      const { id } = await this.#client.spawn(
        { owner_id, ttl: '2h', memory_mb: 64 },
        { idempotencyKey: key },
      );
      given.add(id);
      return id;
    };
    const id = await this.#insist(`a spawn of ${owner_id}`, spawn);
    if (id !== undefined) this.live.add(id);
    return id;
  }

  /** It may fail; what it answers must be true. */
  async #command(id: string): Promise<void> {
    try {
      const { stdout, exit_code } = await this.#timed(`a command in ${id}`, () =>
        this.#client.exec(id, { command: `echo ${id}`, timeout: '30s' }),
      );
      if (stdout !== `${id}\n` || exit_code !== 0)
        this.surprises.push(`${id} answered ${JSON.stringify(stdout)}`);
    } catch (error) {
      const { code, message } = asServiceError(error);
      if (!OF_FAULTS.includes(code) && !isConnection(error))
        this.surprises.push(`a command in ${id}: ${code}: ${message}`);
      if (code === 'not_found') this.surprises.push(`${id} was not found: ${message}`);
    }
  }

  async #destroy(id: string): Promise<void> {
    this.live.delete(id);
    const done = await this.#insist(`the end of ${id}`, async () => {
      await this.#client.destroy(id);
      return true;
    });
    if (done) this.ended.add(id);
  }

  /** Repeats what failed. Undefined once the patience is over, which is a finding. */
  async #insist<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await this.#timed(what, call);
      } catch (error) {
        const { code, message, retryAfterMs } = asServiceError(error);
        if (!REPEATED.includes(code) && !isConnection(error)) {
          this.surprises.push(`${what}: ${code}: ${message}`);
          return undefined;
        }
        if (performance.now() > deadline) {
          this.surprises.push(`${what}: still ${code} after ${PATIENCE_MS / 1000} s: ${message}`);
          return undefined;
        }
        await pause(Math.min(retryAfterMs ?? 200, 1000));
      }
    }
  }

  async #timed<T>(what: string, call: () => Promise<T>): Promise<T> {
    this.calls++;
    const began = performance.now();
    try {
      return await call();
    } finally {
      const ms = performance.now() - began;
      if (ms > LONGEST_CALL_MS) this.surprises.push(`${what} took ${Math.round(ms / 1000)} s`);
    }
  }
}

/** The server was killed: the client's connection broke, or HAProxy answers for it in HTML. */
const isConnection = (error: unknown) =>
  /ECONN|socket|terminated|other side|fetch failed|cannot be reached|Unexpected answer|502|503|504/i.test(
    `${String(error)} ${String((error as { cause?: unknown }).cause ?? '')}`,
  );

/** A reader that resumes by the id of the last event it has. */
export class EventReader {
  /** What it received since `from`. */
  ids: number[] = [];
  /** What is stored behind it must all come. */
  from: number | undefined;
  readonly #url: string;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(url: string) {
    this.#url = url;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** What it received is judged; what comes next is behind it. */
  goOn(): void {
    this.from = this.ids.at(-1) ?? this.from;
    this.ids = [];
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#read().catch(() => undefined);
      await pause(100);
    }
  }

  async #read(): Promise<void> {
    const last = this.ids.at(-1) ?? this.from;
    const headers = {
      'x-api-key': API_KEY,
      ...(last !== undefined && { 'last-event-id': String(last) }),
    };
    const answer = await fetch(`${this.#url}/api/v1/events`, { headers, signal: this.#stop.signal });
    if (answer.status !== 200 || !answer.body) return;
    let rest = '';
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string): void {
    const id = /^id: (\d+)$/m.exec(block)?.[1];
    if (id === undefined) return;
    if (/^data:/m.test(block)) this.ids.push(Number(id));
    else this.from ??= Number(id);
  }
}
