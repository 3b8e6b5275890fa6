// How a request came to us where proxies stand in front: what they say is believed only from those that are trusted.
import type { IncomingMessage } from 'node:http';
import { plainAddress } from '../../domain/address.ts';

export type Scheme = 'http' | 'https';
type IsProxy = (address: string) => boolean;

/** Longer chains are cut at their far end, which is anybody's word. */
const MAX_HOPS = 32;

/** By which the client speaks to us, or to the proxy in front. We ourselves speak no TLS. */
export function schemeOf({ socket, headers }: IncomingMessage, isProxy: IsProxy): Scheme {
  const said = headers['x-forwarded-proto'];
  if (said === undefined) return 'http';
  const nearest = String(said).split(',').at(-1)?.trim().toLowerCase();
  return nearest === 'https' && isProxy(peerOf(socket)) ? 'https' : 'http';
}

/** X-Forwarded-For as the next server should get it: what a trusted proxy said, and then the peer itself. */
export function forwardedFor({ socket, headers }: IncomingMessage, isProxy: IsProxy): string {
  const peer = peerOf(socket);
  const said = isProxy(peer) ? String(headers['x-forwarded-for'] ?? '') : '';
  const hops = said.split(',').map((hop) => hop.trim());
  return [...hops.filter((hop) => plainAddress(hop) !== undefined).slice(-MAX_HOPS), peer].join(', ');
}

function peerOf({ remoteAddress = '' }: { remoteAddress?: string | undefined }): string {
  return plainAddress(remoteAddress) ?? remoteAddress;
}
