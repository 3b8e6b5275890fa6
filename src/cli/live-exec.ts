// Runs a command that reads this process's standard input while it runs.

import type { Client } from '../client/client.ts';
import type { ExecResult } from '../schema/exec.ts';
import type { Sink } from './sink.ts';

/** A running command of the client. */
export type LiveCommand = Awaited<ReturnType<Client['openExec']>>;
export type LiveRequest = Parameters<Client['openExec']>[1];

type Outcome = Partial<ExecResult> & { exit_code: number };

/** Resolves with the status of the command. Aborting `signal` kills it and rejects with the signal's reason. */
export async function execWithInput(
  client: Client,
  id: string,
  request: LiveRequest,
  { sink, signal }: { sink: Sink; signal: AbortSignal },
): Promise<Outcome> {
  const socket = await client.openExec(id, request);
  const leave = () => socket.close();
  signal.addEventListener('abort', leave, { once: true });
  try {
    return { ...(await relay(socket, sink)), ...sink.kept() };
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', leave);
    socket.close();
  }
}

async function relay(socket: LiveCommand, sink: Sink): Promise<Outcome> {
  let exec_id = '';
  let stopFeeding: () => void = () => undefined;
  try {
    for await (const event of socket.events()) {
      if (event.type === 'started') {
        exec_id = event.exec_id;
        stopFeeding = feed(socket);
      } else if (event.type === 'exit') {
        const { type: _, timed_out: __, ...exit } = event;
        return { exec_id, ...exit };
      } else await sink.add(event.type, event.data);
    }
    return { exit_code: 1 };
  } finally {
    stopFeeding();
  }
}

/**
 * Passes standard input on until the returned function is called. Unread input stays for the next reader in a shell script,
 * and an endless input does not keep this process alive.
 */
function feed(socket: LiveCommand): () => void {
  const input = process.stdin;
  let isOver = false;
  const pass = (data: Buffer) => {
    input.pause();
    void socket.write(data).then(() => {
      if (!isOver) input.resume();
    });
  };
  const end = () => socket.end();
  input.on('data', pass).once('end', end).once('error', end);
  return () => {
    isOver = true;
    input.off('data', pass).off('end', end).pause();
  };
}
