// One process of `svc serve`, or of a program in its place.
import { type ChildProcess, spawn } from 'node:child_process';

export interface ServerProcess {
  child: ChildProcess;
  /** Where it listens. */
  url: string;
  /** All that it wrote to standard error. */
  log(): string;
  /** Sends the signal and waits for the end; the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface Launch {
  command: readonly [string, ...string[]];
  cwd: string;
  env: Record<string, string>;
  /** By default this process's own. */
  user?: { uid?: number; gid?: number };
}

/** Resolves when it serves; rejects with its log when it ends first. */
export async function startProcess({ command, cwd, env, user }: Launch): Promise<ServerProcess> {
  const [program, ...args] = command;
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], ...user });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const url = await new Promise<string>((resolve, reject) => {
    child.once('message', (message: { address: string }) => resolve(message.address));
    void ended.then((code) => reject(new Error(`the server ended with ${code}:\n${log}`)));
  });
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  return { child, url, log: () => log, end };
}
