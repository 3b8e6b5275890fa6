// A program of the fleet on a host of its own network, which a campaign kills, freezes and starts again.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { NetworkHost } from '../../test/support/hosts/network.ts';
import { until } from '../../test/support/until.ts';

const MOST_LOG = 2_000_000;
const STARTED_MS = 90_000;

export interface MemberOptions {
  host: NetworkHost;
  /** The program and its arguments, behind options of `nsenter` if there are any. */
  command: readonly string[];
  env: Record<string, string>;
  /** Its log has them when it has started. */
  words: string | RegExp;
  /** Starts it again where it ends before it has started, as a supervisor does. */
  isRestarted?: boolean;
}

export class Member {
  readonly host: NetworkHost;
  readonly #options: MemberOptions;
  #child: ChildProcess | undefined;
  #log = '';

  constructor(options: MemberOptions) {
    this.host = options.host;
    this.#options = options;
  }

  get name(): string {
    return this.host.name;
  }

  get log(): string {
    return this.#log;
  }

  /** Resolves when it has started. */
  async start(): Promise<void> {
    const { words, isRestarted } = this.#options;
    let child = this.#spawned();
    let said = heard(child, (text) => this.#add(text));
    const hasStarted = () => {
      if (said().search(words) >= 0) return true;
      if (child.exitCode === null) return false;
      if (!isRestarted) throw new Error(`${this.name} ended:\n${said()}`);
      child = this.#spawned();
      said = heard(child, (text) => this.#add(text));
      return false;
    };
    await until(`${this.name} has started`, hasStarted, STARTED_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}:\n${said().slice(-5000)}`);
    });
  }

  #spawned(): ChildProcess {
    const { command, env } = this.#options;
    // Away from the sample configuration in the current folder.
    const options: SpawnOptions = { cwd: env.HOME, env, stdio: ['ignore', 'pipe', 'pipe'] };
    this.#child = spawn('nsenter', [...this.host.inside, ...command], options);
    return this.#child;
  }

  #add(text: string): void {
    this.#log = (this.#log + text).slice(-MOST_LOG);
  }

  /** Resolves when it has ended. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  freeze(isFrozen: boolean): void {
    this.#child?.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
  }
}

/** What a process has written so far. */
function heard({ stdout, stderr }: ChildProcess, told: (text: string) => void): () => string {
  let said = '';
  for (const output of [stdout, stderr])
    output?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-MOST_LOG);
      told(text);
    });
  return () => said;
}
