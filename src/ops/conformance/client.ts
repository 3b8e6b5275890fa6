// The backend under test: requests as the provider makes them, with every status in sight, and one sandbox for all rules.
// What is made carries an instance of its own, so that no service takes it for its.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Random } from '../../domain/ports.ts';
import { labelsFor } from '../../providers/backends/labels.ts';
import { execParts } from '../../providers/custom/exec-answer.ts';
import { type Outgoing, type OutgoingRequest, outgoing } from '../../providers/outgoing/outgoing.ts';
import type { Reply } from '../../providers/outgoing/reply.ts';
import type { CustomConfig } from '../../schema/config-backends.ts';

const TIMEOUT_MS = 15_000;
const LIFE_MS = 10 * 60_000;
const PATIENCE_MS = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
const WHAT = 'The backend';

export interface Ran {
  stdout: Buffer;
  stderr: Buffer;
  exit_code: number;
  timed_out: boolean;
}

export interface ConformanceClientDeps {
  clock: Clock;
  random: Random;
  config: CustomConfig;
  /** How long an end that has to come may take; 10 s unless given. */
  patienceMs?: number;
}

export class ConformanceClient {
  readonly clock: Clock;
  readonly instance: { id: string };
  readonly config: CustomConfig;
  readonly patienceMs: number;
  /** The one that rules share; '' before it is made. */
  sandbox = '';
  readonly #made = new Set<string>();
  readonly #out: Outgoing;
  readonly #stranger: Outgoing;
  #count = 0;

  constructor({ clock, random, config, patienceMs = PATIENCE_MS }: ConformanceClientDeps) {
    this.clock = clock;
    this.config = config;
    this.patienceMs = patienceMs;
    const hex = random.bytes(16).toString('hex');
    this.instance = { id: `conformance-${hex}` };
    const key = (text: string | undefined) => (text === undefined ? {} : { authorization: `Bearer ${text}` });
    const options = { what: WHAT, baseUrl: config.base_url, clock, timeoutMs: TIMEOUT_MS };
    this.#out = outgoing({ ...options, headers: key(config.api_key) });
    this.#stranger = outgoing({ ...options, headers: key(`not-${hex}`) });
  }

  /** Any status is an answer. */
  ask(ask: OutgoingRequest): Promise<Reply> {
    return this.#out.request({ maxBytes: MAX_BYTES, ...ask });
  }

  /** The same with a key that is not the backend's. */
  askAsStranger(ask: OutgoingRequest): Promise<Reply> {
    return this.#stranger.request(ask);
  }

  /** Status of a call whose body is of no interest. */
  async status(ask: OutgoingRequest): Promise<number> {
    const reply = await this.ask(ask);
    await reply.discard();
    return reply.status;
  }

  /** JSON of a call that has to be done. */
  async json(ask: OutgoingRequest): Promise<unknown> {
    const reply = await this.ask(ask);
    if (!DONE.some((each) => each === reply.status)) await reply.discard();
    mustBe(reply.status, DONE);
    return reply.json();
  }

  /** Body of a spawn of a runtime that was not asked for before. */
  spawnBody(): { memory_mb: number; vcpus: number; metadata: Record<string, string> } {
    const spec = {
      id: `sb-conformance${++this.#count}`,
      epoch: 1,
      image: undefined,
      network: 'default' as const,
      memory_mb: 128,
      vcpus: 1,
      expires_at: new Date(this.clock.now() + LIFE_MS).toISOString(),
    };
    return { memory_mb: 128, vcpus: 1, metadata: labelsFor(this.instance, spec) };
  }

  /** Remembered, to be ended at the latest when all is over. */
  async spawn(body: object, signal: AbortSignal): Promise<string> {
    const answer = await this.json({ method: 'POST', path: '/spawn', json: body, signal });
    const { id } = (answer ?? {}) as { id?: unknown };
    if (typeof id === 'string') this.#made.add(id);
    if (typeof id === 'string' && /^(?!\.{1,2}$)[A-Za-z0-9._~:-]{1,256}$/.test(id)) return id;
    throw broken('The id is not valid.');
  }

  forget(id: string): void {
    this.#made.delete(id);
  }

  /** The answer to an exec in the shared sandbox, as it comes. */
  startExec(argv: readonly string[], more: object, signal: AbortSignal): Promise<Reply> {
    const [command, ...args] = argv;
    const json = { sandbox_id: this.sandbox, mode: 'argv', command, args, env: {}, stream: true, ...more };
    const ask = { method: 'POST', path: '/exec', json, signal, withinMs: 0, maxBytes: MAX_BYTES } as const;
    return this.ask(ask);
  }

  /** An exec to its end. */
  async run(argv: readonly string[], more: object, signal: AbortSignal): Promise<Ran> {
    const reply = await this.startExec(argv, more, signal);
    if (reply.status !== 200) await reply.discard();
    mustBe(reply.status, [200]);
    const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    for await (const part of execParts(reply)) {
      if ('output' in part) parts[part.output.channel].push(part.output.data);
      else if ('exit' in part) {
        const { exit_code, timed_out } = part.exit;
        const [stdout, stderr] = [Buffer.concat(parts.stdout), Buffer.concat(parts.stderr)];
        return { stdout, stderr, exit_code, timed_out };
      } else throw broken('The backend gave up on the command.');
    }
    throw broken('The response ended without an exit code.');
  }

  sh(line: string, signal: AbortSignal, more: object = {}): Promise<Ran> {
    return this.run(['/bin/sh', '-c', line], more, signal);
  }

  /** A call about files of the shared sandbox. */
  file(ask: OutgoingRequest): OutgoingRequest {
    return { ...ask, query: { sandbox_id: this.sandbox, ...ask.query } };
  }

  /** Puts `content` into a file. */
  async put(path: string, content: Buffer, signal: AbortSignal): Promise<void> {
    const headers = { 'content-type': 'application/octet-stream' };
    const ask = { method: 'POST', path: '/files', query: { path }, headers, body: content, signal } as const;
    mustBe(await this.status(this.file(ask)), DONE);
  }

  async get(path: string, signal: AbortSignal): Promise<Buffer> {
    const reply = await this.ask(this.file({ method: 'GET', path: '/files', query: { path }, signal }));
    if (reply.status !== 200) await reply.discard();
    mustBe(reply.status, [200]);
    return reply.bytes();
  }

  /** Ends what rules have left. */
  async close(signal: AbortSignal): Promise<void> {
    for (const id of this.#made)
      await this.status({ method: 'DELETE', path: `/sandboxes/${encodeURIComponent(id)}`, signal }).catch(
        () => undefined,
      );
    await Promise.all([this.#out.close(), this.#stranger.close()]);
  }
}

/** `words` is what is wrong, a sentence. */
export const broken = (words: string) => new ServiceError('provider_error', words);

/** Throws unless `status` is one of `expected`. */
export function mustBe(status: number, expected: readonly number[]): void {
  if (!expected.includes(status))
    throw broken(`The backend returned status ${status} instead of ${expected.join(' or ')}.`);
}

export const DONE = [200, 201, 202, 204] as const;

export interface Rule {
  /** `<group>.<name>`, as in the report. */
  id: string;
  title: string;
  /** Ids of earlier rules without which this one says nothing. */
  needs?: readonly string[];
  /** The contract lets a backend do without: breaking it is a warning. */
  optional?: true;
  /** 20 s unless given. */
  deadlineMs?: number;
  /** Resolves with what was seen. Rejects with a ServiceError that says what is wrong. */
  look(client: ConformanceClient, signal: AbortSignal): Promise<string>;
}

export interface RuleGroup {
  id: string;
  title: string;
  /** The heading of docs/custom-provider.md where its rules stand. */
  chapter: string;
  rules: readonly Rule[];
}
