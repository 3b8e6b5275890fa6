// Pings: a peer that has vanished without a word is noticed within a minute, and proxies see that the connection is used.
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '../domain/ports.ts';

const PING_MS = 20_000;
/** Pings without any sign of life in between. */
const PATIENCE = 2;

/** Cuts the connection when the peer does not answer. One that we do not read cannot answer and is left alone. */
export function keepAlive(ws: WebSocket, clock: Clock): () => void {
  let unanswered = 0;
  let timer: Timer;
  const alive = () => {
    unanswered = 0;
  };
  const beat = () => {
    if (ws.readyState !== ws.OPEN) return;
    if (!ws.isPaused && unanswered >= PATIENCE) return ws.terminate();
    unanswered += 1;
    ws.ping();
    timer = clock.after(PING_MS, beat);
  };
  ws.on('pong', alive).on('message', alive);
  timer = clock.after(PING_MS, beat);
  const stop = () => timer.cancel();
  ws.once('close', stop);
  return stop;
}
