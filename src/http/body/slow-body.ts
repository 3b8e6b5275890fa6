// Bodies have no deadline, because an honest one may be large; they have a minimum rate. A client that stays below it
// loses the connection, and so does one that continues to send a refused body.
import type { IncomingMessage } from 'node:http';
import type { Clock, Timer } from '../../domain/ports.ts';

const CHECK_MS = 5_000;
const GRACE_MS = 20_000;
const BYTES_PER_SECOND = 4 * 1024;
/** What is refused is read on as long as it comes quickly, and not for ever. */
const LINGER_MS = 5_000;
const LINGER_BYTES = LINGER_MS * 128;
const MOST_LINGERS = 12;

/** Calls `late` once when the body of `request` falls behind. Ends by itself with the body. */
export function watchPace(request: IncomingMessage, clock: Clock, late: () => void): void {
  const begin = clock.monotonic();
  const bytesBefore = request.socket.bytesRead;
  let timer: Timer;
  const look = () => {
    if (request.complete || request.destroyed) return;
    const due = ((clock.monotonic() - begin - GRACE_MS) / 1000) * BYTES_PER_SECOND;
    if (request.socket.bytesRead - bytesBefore < due) late();
    else timer = clock.after(CHECK_MS, look);
  };
  timer = clock.after(CHECK_MS, look);
  request.once('close', () => timer.cancel());
}

/**
 * Reads and drops what is left of a refused body for a while: a client that is still sending reads the answer only
 * when its bytes are taken, and a closed socket would throw the answer away.
 */
export function lingerOver(request: IncomingMessage, clock: Clock): void {
  if (request.complete || request.destroyed) return;
  // Who was to write it takes no more, and would hold it up: the next request of the connection comes after it.
  request.unpipe();
  request.removeAllListeners('data');
  request.resume();
  let before = request.socket.bytesRead;
  let lingers = 0;
  const look = () => {
    if (request.complete) return;
    const { bytesRead } = request.socket;
    lingers += 1;
    if (bytesRead - before < LINGER_BYTES || lingers === MOST_LINGERS) request.socket.destroy();
    else timer = clock.after(LINGER_MS, look);
    before = bytesRead;
  };
  let timer = clock.after(LINGER_MS, look);
  request.once('close', () => timer.cancel());
}
