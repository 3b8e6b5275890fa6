// WebSockets of previews: once the guest has agreed, two connections are joined byte by byte and nobody reads along. A guest
// that only pretends to agree is refused, since whatever follows would be taken for what it is not.
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { idleTimeout } from '../../domain/idle-timeout.ts';
import type { Clock } from '../../domain/ports.ts';
import { badAnswer, visitorHeaders } from './guest-answer.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Applications that mean to stay send something every minute or so. */
const SILENCE_MS = 3_600_000;
/** Between the end of one direction and that of the connection. */
const LINGER_MS = 10_000;

/** The response to the visitor's upgrade. Throws `unavailable` (502) when the guest did not agree to the request. */
export function switchingHead(raw: IncomingMessage, answer: IncomingMessage, name: string): string {
  const { upgrade, 'sec-websocket-accept': accept } = answer.headers;
  const due = createHash('sha1').update(`${raw.headers['sec-websocket-key']}${GUID}`).digest('base64');
  if (answer.statusCode !== 101 || upgrade?.toLowerCase() !== 'websocket' || accept !== due)
    throw badAnswer();
  const headers = visitorHeaders(answer, name);
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket'];
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Resolves when both are closed: soon after either has ended, failed, or been silent with the other for an hour. */
export function join(visitor: Duplex, tunnel: Duplex, clock: Clock): Promise<void> {
  const both = [visitor, tunnel];
  const end = () => {
    for (const side of both) side.destroy();
  };
  const watch = idleTimeout(clock, SILENCE_MS, end);
  const closed = both.map(
    (side) =>
      new Promise<void>((resolve) => {
        if (side.destroyed) resolve();
        side.once('close', resolve).once('close', end).once('error', end);
        side.once('end', () => clock.after(LINGER_MS, end));
      }),
  );
  visitor.pipe(tunnel);
  tunnel.pipe(visitor);
  for (const side of both) side.on('data', watch.touch);
  return Promise.all(closed).then(watch.stop);
}
