// Pings: a peer that has vanished without a word is noticed within a minute, and proxies see that the connection is used.
import type { WebSocket } from 'ws';
import type { Clock, Timer } from '../../domain/ports.ts';

const BEAT_MS = 2000;
/** Between two pings to a peer that we read. */
const BEATS = 10;
/** Pings without any sign of life in between. */
const PATIENCE = 2;

/**
 * Cuts the connection when the peer does not answer. One that we do not read cannot answer, nor can its end be seen: it
 * is pinged at every beat, since the second write to a closed connection fails.
 */
export function keepAlive(ws: WebSocket, clock: Clock): () => void {
  let unanswered = 0;
  let beats = 0;
  let timer: Timer;
  const alive = () => {
    unanswered = 0;
  };
  const beat = () => {
    if (ws.readyState !== ws.OPEN) return;
    timer = clock.after(BEAT_MS, beat);
    beats += 1;
    if (ws.isPaused) return ws.ping();
    if (beats % BEATS !== 0) return;
    if (unanswered >= PATIENCE) return ws.terminate();
    unanswered += 1;
    ws.ping();
  };
  ws.on('pong', alive).on('message', alive);
  timer = clock.after(BEAT_MS, beat);
  const stop = () => timer.cancel();
  ws.once('close', stop);
  return stop;
}
