// Writes an answer that is there as a whole, or can be made at once, as its client takes it. A client that takes nothing for
// a minute loses its connection: what it was to get is kept in memory. Streams of commands, downloads and previews are not
// written here: they may pause, the program or the file waits with them.
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../domain/ports.ts';

/** How long nothing may be taken. */
export const STALLED_MS = 60_000;
/** The limit for one turn of the event loop and one response. */
const TURN_MS = 1;

export interface WriteTools {
  clock: Clock;
  /** Resolves when it is this answer's turn again; with the next turn of the event loop unless given. */
  pass?: (() => Promise<void>) | undefined;
}

/** Resolves when all is handed over or the client has disconnected. The head is written already. */
export async function writePieces(
  response: ServerResponse,
  pieces: Iterable<Buffer>,
  { clock, pass = setImmediate }: WriteTools,
): Promise<void> {
  await pass();
  let began = clock.monotonic();
  for (const piece of pieces) {
    if (response.destroyed) return;
    const isTaken = response.write(piece);
    if (isTaken && clock.monotonic() - began < TURN_MS) continue;
    if (!isTaken) await taken(response, clock);
    await pass();
    began = clock.monotonic();
  }
  if (response.destroyed) return;
  response.end();
  dropIfStalled(response, clock);
}

/** For an answer of one piece, once it is handed over. */
export function dropIfStalled(response: ServerResponse, clock: Clock): void {
  if (isTaken(response)) return;
  void once(response, 'finish', clock);
}

/** Resolves when there is room for more, or the connection is over. */
export function taken(response: ServerResponse, clock: Clock): Promise<void> {
  return once(response, 'drain', clock);
}

function once(response: ServerResponse, event: 'drain' | 'finish', clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const late = () => {
      // Behind another answer on the same connection it is not this one's turn: `finish` and `drain` come after it.
      if (response.socket === null && !response.destroyed) timer = clock.after(STALLED_MS, late);
      else response.destroy();
    };
    let timer = clock.after(STALLED_MS, late);
    const done = () => {
      timer.cancel();
      response.off(event, done).off('close', done);
      resolve();
    };
    response.once(event, done).once('close', done);
  });
}

/** All of it is with the kernel; the event says so only later. */
function isTaken({ writableFinished, writableEnded, socket }: ServerResponse): boolean {
  return writableFinished || (writableEnded && socket?.writableLength === 0);
}
