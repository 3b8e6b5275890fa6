// A command that gets this process's standard input while it runs, byte for byte and in a pipeline.

import type { Client } from '../client/client.ts';
import type { ExecResult } from '../schema/exec.ts';
import type { Sink } from './sink.ts';

/** A running command, as the client gives it. */
export type LiveCommand = Awaited<ReturnType<Client['openExec']>>;
export type LiveRequest = Parameters<Client['openExec']>[1];

type Outcome = Partial<ExecResult> & { exit_code: number };

/** Resolves with its status. Aborting `signal` kills it and rejects with the signal's reason. */
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
 * Gives what it returns to be called when the command has ended: what is still unread stays with whoever comes after in
 * the pipeline, and an input without end does not keep this process.
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
