// A process of the fleet that a campaign kills, freezes and starts again: `svc serve` or `svc worker`.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { until } from '../../test/support/until.ts';

const MOST_LOG = 2_000_000;

export class Member {
  readonly name: string;
  readonly #args: readonly string[];
  readonly #env: Record<string, string>;
  #child: ChildProcess | undefined;
  #log = '';

  constructor(name: string, args: readonly string[], env: Record<string, string>) {
    this.name = name;
    this.#args = args;
    this.#env = env;
  }

  get log(): string {
    return this.#log;
  }

  /** Resolves when its log says `words`. */
  async start(words: string): Promise<void> {
    const child = spawn(process.execPath, this.#args, {
      // Away from the sample configuration in the current folder.
      cwd: this.#env.HOME,
      env: this.#env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      this.#log = (this.#log + text).slice(-MOST_LOG);
    });
    await until(
      `${this.name} has started`,
      () => {
        if (child.exitCode !== null) throw new Error(`${this.name} ended:\n${said}`);
        return said.includes(words);
      },
      60_000,
    );
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
