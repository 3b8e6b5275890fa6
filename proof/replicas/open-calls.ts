// What must go on while the database fails: a stream, a terminal and a preview, open from before the fault, that say something ten
// times a second; and a writer beside them, whose calls must be answered soon, whatever the answer is.
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '../../src/client/client.ts';
import { packageRoot } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';
import { API_KEY, type Ground } from './ground.ts';

const GUEST = readFileSync(join(packageRoot, 'test/support/servers/preview-guest.py'));
const COUNTING = 'i=0; while :; do echo $i; i=$((i+1)); sleep 0.1; done';
const LONGEST = '10m';
/** A pause in what comes that somebody notices; the machine is busy. */
const LONGEST_SILENCE_MS = 3000;
const LONGEST_CALL_MS = 10_000;
const PULSE_MS = 500;
const LONGEST_END_MS = 60_000;

interface Pulse {
  began: number;
  ended: number;
  status: number;
  retryAfter: string | null;
  text: string;
}

/** Something that says a word now and then, until `stop`. */
class Voice {
  readonly name: string;
  words = 0;
  silence = 0;
  failure: string | undefined;
  #last = performance.now();
  #isStopped = false;
  readonly over: Promise<void>;

  constructor(name: string, run: (spoke: () => void) => Promise<void>) {
    this.name = name;
    const spoke = () => {
      const now = performance.now();
      if (this.words++ > 0) this.silence = Math.max(this.silence, now - this.#last);
      this.#last = now;
    };
    this.over = run(spoke).then(
      () => this.#ended('it ended'),
      (error: unknown) => this.#ended(String(error)),
    );
  }

  stop(): void {
    this.silence = Math.max(this.silence, performance.now() - this.#last);
    this.#isStopped = true;
  }

  #ended(why: string): void {
    if (!this.#isStopped) this.failure = why;
  }
}

export class OpenCalls {
  readonly #ground: Ground;
  readonly #refusals: readonly number[];
  readonly #client: Client;
  readonly #stop = new AbortController();
  readonly #voices: Voice[] = [];
  readonly #pulses: Pulse[] = [];
  readonly #pending = new Set<Promise<void>>();
  #id = '';

  /** `refusals` are the statuses that writes may get besides 200 and 503. */
  constructor(ground: Ground, refusals: readonly number[]) {
    this.#ground = ground;
    this.#refusals = refusals;
    this.#client = new Client({ server: ground.url, apiKey: API_KEY });
  }

  /** Resolves when all of them speak, in a sandbox of their own. */
  async start(): Promise<void> {
    const { id } = await this.#client.spawn({ owner_id: 'watcher', ttl: '2h', memory_mb: 64 });
    this.#id = id;
    await this.#client.files.write(id, '/workspace/guest.py', GUEST);
    const server = { command: 'exec python3 /workspace/guest.py 8000', timeout: LONGEST };
    await this.#client.execs.detach(id, server);
    await until('the page', () => this.#page('/').then(({ statusCode }) => statusCode === 200), 30_000);
    this.#voices.push(
      new Voice('a stream', (spoke) => this.#stream(spoke)),
      new Voice('a terminal', (spoke) => this.#terminal(spoke)),
      new Voice('a preview', (spoke) => this.#preview(spoke)),
    );
    const allSpeak = () => {
      const failed = this.#voices.find(({ failure }) => failure !== undefined);
      if (failed) throw new Error(`${failed.name} failed at once: ${failed.failure}`);
      return this.#voices.every(({ words }) => words > 3);
    };
    await until('open calls', allSpeak, 30_000);
    void this.#write();
  }

  /** What was wrong, as sentences. */
  async stop(): Promise<string[]> {
    for (const voice of this.#voices) voice.stop();
    this.#stop.abort();
    await Promise.all([...this.#voices.map(({ over }) => over), ...this.#pending]);
    const isEnded = await this.#ended();
    await this.#client.close();
    return [
      ...(isEnded ? [] : [`${this.#id} could not be ended`]),
      ...this.#voices.flatMap(({ name, failure, silence }) => [
        ...(failure === undefined ? [] : [`${name} broke: ${failure}`]),
        ...(silence > LONGEST_SILENCE_MS ? [`${name} was silent for ${Math.round(silence)} ms`] : []),
      ]),
      ...this.#pulses.flatMap((pulse) => wrongOf(pulse, this.#refusals)),
    ];
  }

  /** How long after a moment, in ms since 1970, the first write was acknowledged. */
  firstWriteAfter(moment: number): number | undefined {
    const ends = this.#pulses.filter(({ status }) => status === 200).map(({ ended }) => ended);
    const next = Math.min(...ends.filter((ended) => ended >= moment));
    return Number.isFinite(next) ? next - moment : undefined;
  }

  /** The longest time without an acknowledged write, in ms. */
  longestOutage(): number {
    const ends = this.#pulses.filter(({ status }) => status === 200).map(({ ended }) => ended);
    const sorted = ends.sort((a, b) => a - b);
    return Math.max(0, ...sorted.slice(1).map((ended, n) => ended - (sorted[n] ?? ended)));
  }

  /** Repeats until it is answered. */
  async #ended(): Promise<boolean> {
    if (this.#id === '') return true;
    const end = () =>
      this.#client.destroy(this.#id).then(
        () => true,
        () => pause(PULSE_MS, false),
      );
    return until('the end of the sandbox of open calls', end, LONGEST_END_MS).catch(() => false);
  }

  async #write(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const call = this.#extend().finally(() => this.#pending.delete(call));
      this.#pending.add(call);
      await pause(PULSE_MS);
    }
  }

  async #extend(): Promise<void> {
    const began = Date.now();
    const init = {
      method: 'POST',
      headers: { ...this.#ground.auth, 'content-type': 'application/json' },
      body: JSON.stringify({ ttl: '2h' }),
      signal: AbortSignal.timeout(60_000),
    };
    const url = `${this.#ground.url}/api/v1/sandboxes/${this.#id}/extend`;
    const answer = await fetch(url, init).catch(() => undefined);
    const text = (await answer?.text().catch(() => undefined)) ?? '';
    const [status, retryAfter] = [answer?.status ?? 0, answer?.headers.get('retry-after') ?? null];
    this.#pulses.push({ began, ended: Date.now(), status, retryAfter, text });
  }

  async #stream(spoke: () => void): Promise<void> {
    const ask = { command: COUNTING, timeout: LONGEST };
    for await (const line of this.#client.execStream(this.#id, ask, this.#stop.signal)) {
      if (line.stream === 'error') throw new Error(line.data);
      if (line.stream === 'stdout') spoke();
    }
  }

  async #terminal(spoke: () => void): Promise<void> {
    const ask = { command: COUNTING, tty: true, timeout: LONGEST };
    const socket = await this.#client.openExec(this.#id, ask, { signal: this.#stop.signal });
    for await (const event of socket.events()) {
      if (event.type === 'exit') return;
      if (event.type !== 'started') spoke();
    }
  }

  async #preview(spoke: () => void): Promise<void> {
    const events = await this.#page('/events');
    this.#stop.signal.addEventListener('abort', () => events.destroy());
    for await (const _ of events) spoke();
  }

  #page(path: string): Promise<IncomingMessage> {
    const { hostname, port } = new URL(this.#ground.url);
    const asked = { host: hostname, port, path, headers: { host: `8000-${this.#id}.localhost` } };
    return new Promise((resolve, reject) => {
      get({ ...asked, agent: false })
        .once('response', resolve)
        .once('error', reject);
    });
  }
}

function wrongOf({ began, ended, status, retryAfter, text }: Pulse, refusals: readonly number[]): string[] {
  const took = ended - began;
  if (took > LONGEST_CALL_MS) return [`a write took ${took} ms (${status})`];
  const isRight = status === 200 || refusals.includes(status) || (status === 503 && retryAfter !== null);
  return isRight ? [] : [`a write got ${status} after ${took} ms: ${text.slice(0, 200)}`];
}
