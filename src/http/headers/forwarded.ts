// How a request came to us where proxies stand in front: what they say is believed only from those that are trusted.
import type { IncomingMessage } from 'node:http';
import { plainAddress } from '../../domain/address.ts';

export type Scheme = 'http' | 'https';
type IsProxy = (address: string) => boolean;

/** Longer chains are cut at their far end, which is anybody's word. */
const MAX_HOPS = 32;

/** The scheme that the client uses towards us or the proxy in front. */
export function schemeOf({ socket, headers }: IncomingMessage, isProxy: IsProxy): Scheme {
  if ((socket as { encrypted?: boolean }).encrypted === true) return 'https';
  const header = headers['x-forwarded-proto'];
  if (header === undefined) return 'http';
  const nearest = String(header).split(',').at(-1)?.trim().toLowerCase();
  return nearest === 'https' && isProxy(peerOf(socket)) ? 'https' : 'http';
}

/** The X-Forwarded-For value for the next server: the value from a trusted proxy, followed by the peer. */
export function forwardedFor({ socket, headers }: IncomingMessage, isProxy: IsProxy): string {
  const peer = peerOf(socket);
  const header = isProxy(peer) ? String(headers['x-forwarded-for'] ?? '') : '';
  const hops = header.split(',').map((hop) => hop.trim());
  return [...hops.filter((hop) => plainAddress(hop) !== undefined).slice(-MAX_HOPS), peer].join(', ');
}

function peerOf({ remoteAddress = '' }: { remoteAddress?: string | undefined }): string {
  return plainAddress(remoteAddress) ?? remoteAddress;
}
