// Clients that have sent their request and end their side of the connection (FIN) may still read the answer. One that
// has closed all of it looks the same until something is written to it: it then answers with a reset, and the write after
// that fails. So while such an answer stands still, something harmless is written: a `100 Continue` before its head (every
// client of HTTP/1.1 skips it, RFC 9110 15.2; some libraries skip no other 1xx), an empty line or a comment between the
// pieces of a stream. What can be given neither (HTTP/1.0, downloads, previews) may stand still for a short time only.
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';

/** From the FIN to the first look and from look to look: the first write causes the reset, the second one finds it. */
const LOOKS_MS = [100, 200];
const LATER_MS = 2000;
/** Looks in a row that may find an answer without a sign of life where the one before found it. */
const MOST_STILL = 3;

const signs = new WeakMap<ServerResponse, string>();

/** `sign` means nothing to the readers of this stream and may be written between any two of its writes. */
export function signedBy(response: ServerResponse, sign: string): void {
  signs.set(response, sign);
}

/**
 * Has `server` answer clients that half-close; to be called before it listens. Their connections are ended after the answer,
 * those without a request at once; those that end within a request are broken off. Upgraded connections are left alone.
 */
export function keepHalfOpen(server: Server, clock: Clock): void {
  // Missing in the types. Node ends the connection after the last response and leaves it to the application to notice a
  // half-closed client.
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  // One function for all connections: thousands of them may wait at once.
  function ended(this: Socket): void {
    watch(this, clock);
  }
  server.on('connection', (socket: Socket) => void socket.on('end', ended));
  server.on('upgrade', (_request, socket: Duplex) => void socket.off('end', ended));
}

/** Until the connection is closed, by us after the answer or by a write that failed. */
function watch(socket: Socket, clock: Clock): void {
  let timer: Timer;
  let [looks, still, written] = [0, 0, socket.bytesWritten];
  const look = () => {
    const answer = standing(socket);
    still = answer && socket.bytesWritten === written ? still + 1 : 0;
    if (answer && still > 0 && !signed(answer) && still >= MOST_STILL) return void socket.destroy();
    written = socket.bytesWritten;
    again();
  };
  const again = () => {
    timer = clock.after(LOOKS_MS[looks++] ?? LATER_MS, look);
  };
  again();
  socket.once('close', () => timer.cancel());
}

/** The current response, if none of its bytes are in flight: a disconnected client refuses those. */
function standing(socket: Socket): ServerResponse | undefined {
  // Node's own mark.
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null };
  if (!answer || answer.writableEnded || !socket.writable || socket.writableLength > 0) return undefined;
  return answer;
}

/** Writes a sign of life; false: this answer has none. */
function signed(answer: ServerResponse): boolean {
  const sign = signs.get(answer);
  if (answer.headersSent && sign !== undefined) answer.write(sign);
  else if (!answer.headersSent && answer.req.httpVersion === '1.1') answer.writeContinue();
  else return false;
  return true;
}
