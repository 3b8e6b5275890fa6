// Browsers cannot set headers on a WebSocket: they send the key, and under owner enforcement the owner, as subprotocols
// (docs/design/api.md#streams). Those become the headers that they stand for, before anything looks at the request.
import type { IncomingMessage } from 'node:http';

/** The protocol that is really spoken. */
export const VERSION_PROTOCOL = 'svc.v1';

const CARRIED: Record<string, { header: string; encoding: BufferEncoding }> = {
  'svc.key.': { header: 'x-api-key', encoding: 'utf8' },
  // As Node hands over the header, which is decoded where it is read.
  'svc.user.': { header: 'x-user-id', encoding: 'latin1' },
};

/** A header that the request already has wins. The values are checked like those of any other header. */
export function takeProtocolKeys({ headers }: IncomingMessage): void {
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? [];
  for (const name of offered) {
    const prefix = Object.keys(CARRIED).find((one) => name.startsWith(one));
    if (prefix === undefined) continue;
    const { header, encoding } = CARRIED[prefix]!;
    headers[header] ??= Buffer.from(name.slice(prefix.length), 'base64url').toString(encoding);
  }
}
