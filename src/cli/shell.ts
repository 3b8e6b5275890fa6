// The work of `sandbox shell`: connects this terminal to a terminal in the sandbox.

import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import { insidePath } from './args.ts';
import type { ExecOutcome } from './exec.ts';
import type { LiveCommand, LiveRequest } from './live-exec.ts';
import { passing } from './sink.ts';

/** Prefers bash. A login shell reads the profile of the image. */
const ANY_SHELL = 'command -v bash >/dev/null 2>&1 && exec bash -l; exec sh -l';
const PASSED_ON = ['TERM', 'COLORTERM', 'LANG'] as const;

export interface ShellOptions {
  words: readonly string[];
  timeout?: string | undefined;
  workdir?: string | undefined;
  /** The command lives on without this process. */
  keep?: boolean | undefined;
  /** The id of a kept command, which is followed instead of a new one. */
  attach?: string | undefined;
}

/** Resolves with the command's status. A signal that ends this process closes the socket, which ends the command. */
export async function shellIn(client: Client, id: string, options: ShellOptions): Promise<ExecOutcome> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY)
    throw new ServiceError('bad_request', 'Standard input and output are not a terminal.', {
      remedy: 'In a pipeline, use `svc sandbox exec`.',
    });
  const { attach, words } = options;
  if (attach !== undefined && words.length > 0)
    throw new ServiceError('bad_request', 'A command and --attach exclude each other.');
  const socket =
    attach === undefined
      ? await client.openExec(id, request(options, stdout))
      : await client.attachExec(id, { exec_id: attach, ...sizeOf(stdout) });
  const leave = () => socket.close();
  process.once('SIGTERM', leave).once('SIGHUP', leave);
  try {
    return { sandbox_id: id, ...(await show(socket)) };
  } finally {
    process.off('SIGTERM', leave).off('SIGHUP', leave);
    socket.close();
  }
}

async function show(socket: LiveCommand): Promise<{ exit_code: number }> {
  const sink = passing();
  let restore = () => {};
  try {
    for await (const event of socket.events()) {
      if (event.type === 'started') restore = lendTerminal(socket);
      else if (event.type === 'exit') return { exit_code: event.exit_code };
      else await sink.add(event.type, event.data);
    }
    return { exit_code: 1 };
  } finally {
    restore();
  }
}

function request({ words, timeout, workdir, keep }: ShellOptions, stdout: NodeJS.WriteStream): LiveRequest {
  const [command, ...args] = words;
  const env = PASSED_ON.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  return {
    ...(command === undefined ? { command: ANY_SHELL } : { mode: 'argv' as const, command, args }),
    tty: true,
    ...sizeOf(stdout),
    ...(keep && { keep }),
    env: Object.fromEntries(env),
    ...(timeout !== undefined && { timeout }),
    ...(workdir !== undefined && { workdir: insidePath(workdir) }),
  };
}

const sizeOf = ({ rows, columns }: NodeJS.WriteStream) => ({ rows: rows || 24, cols: columns || 80 });

/** Sends keys and sizes to `socket` until the returned function restores the terminal. Idempotent. */
function lendTerminal(socket: LiveCommand): () => void {
  const { stdin, stdout } = process;
  const key = (data: Buffer) => {
    stdin.pause();
    void socket.write(data).then(() => stdin.resume());
  };
  const size = () => socket.resize(stdout.rows, stdout.columns);
  const restore = () => {
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.off('data', key).pause();
    stdout.off('resize', size);
    process.off('exit', restore);
  };
  stdin.setRawMode(true);
  // Restores the terminal however this process ends.
  process.once('exit', restore);
  stdin.on('data', key).resume();
  stdout.on('resize', size);
  return restore;
}
