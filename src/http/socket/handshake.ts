// The opening handshake of WebSockets, as far as a server must look at it (RFC 6455 4.2.1).
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';

/** Throws `bad_request` for one that is not valid. */
export function checkHandshake({ headers }: Pick<IncomingMessage, 'headers'>): void {
  const { 'sec-websocket-key': key, 'sec-websocket-version': version } = headers;
  if (typeof key === 'string' && /^[+/0-9A-Za-z]{22}==$/.test(key) && version === '13') return;
  throw new ServiceError('bad_request', 'The WebSocket handshake is not valid.', {
    remedy: 'Speak version 13 of RFC 6455.',
  });
}
