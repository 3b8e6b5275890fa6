// Browsers cannot set headers on a WebSocket: they send the key, and under owner enforcement the owner, as subprotocols
// (api.md part 3). Those become the headers that they stand for, before anything looks at the request.
import type { IncomingMessage } from 'node:http';

/** The protocol that is really spoken. */
export const VERSION_PROTOCOL = 'svc.v1';

const CARRIED: Record<string, string> = { 'svc.key.': 'x-api-key', 'svc.user.': 'x-user-id' };

/** A header that is there already wins. Nothing is trusted by this: the values are checked as any others. */
export function takeProtocolKeys({ headers }: IncomingMessage): void {
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim()) ?? [];
  for (const name of offered) {
    const prefix = Object.keys(CARRIED).find((one) => name.startsWith(one));
    const header = prefix && CARRIED[prefix];
    if (header) headers[header] ??= Buffer.from(name.slice(prefix.length), 'base64url').toString('utf8');
  }
}
