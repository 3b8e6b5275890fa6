// A program of the fleet on a host of its own network, which a campaign kills, freezes and starts again.
import { type ChildProcess, spawn } from 'node:child_process';
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
    const { command, env, words } = this.#options;
    const child = spawn('nsenter', [...this.host.inside, ...command], {
      // Away from the sample configuration in the current folder.
      cwd: env.HOME,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    let said = '';
    for (const output of [child.stdout, child.stderr])
      output.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-MOST_LOG);
        this.#log = (this.#log + text).slice(-MOST_LOG);
      });
    const hasStarted = () => {
      if (child.exitCode !== null) throw new Error(`${this.name} ended:\n${said}`);
      return said.search(words) >= 0;
    };
    await until(`${this.name} has started`, hasStarted, STARTED_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}:\n${said.slice(-5000)}`);
    });
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
