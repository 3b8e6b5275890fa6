// SOCKS version 5 as far as the proxy port speaks it (RFC 1928): no authentication, CONNECT, names and addresses.

export const SOCKS_VERSION = 5;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const NO_AUTHENTICATION = 0;
const NONE_ACCEPTABLE = 0xff;

/** Codes of a reply (RFC 1928, 6). */
export const SOCKS_REPLY = { done: 0, notAllowed: 2, unreachable: 4, command: 7, addressType: 8 } as const;
export type SocksReply = keyof typeof SOCKS_REPLY;

export type SocksGreeting =
  | { readonly kind: 'more' }
  | { readonly kind: 'greeting'; readonly size: number; readonly isAccepted: boolean }
  | { readonly kind: 'invalid' };

export type SocksRequest =
  | { readonly kind: 'more' }
  | { readonly kind: 'request'; readonly size: number; readonly host: string; readonly port: number }
  | { readonly kind: 'refused'; readonly reply: SocksReply }
  | { readonly kind: 'invalid' };

/** Reads the greeting at the start of `bytes`: the methods that the client offers. */
export function readGreeting(bytes: Buffer): SocksGreeting {
  const [version, count] = bytes;
  if (version !== undefined && version !== SOCKS_VERSION) return { kind: 'invalid' };
  if (count === undefined || bytes.length < 2 + count) return { kind: 'more' };
  const isAccepted = bytes.subarray(2, 2 + count).includes(NO_AUTHENTICATION);
  return { kind: 'greeting', size: 2 + count, isAccepted };
}

export function greetingReply(isAccepted: boolean): Buffer {
  return Buffer.from([SOCKS_VERSION, isAccepted ? NO_AUTHENTICATION : NONE_ACCEPTABLE]);
}

/** Reads the request at the start of `bytes`. `host` is what the client sent; an IPv6 address has no brackets. */
export function readSocksRequest(bytes: Buffer): SocksRequest {
  const [version, command, reserved, type, first] = bytes;
  if ((version ?? SOCKS_VERSION) !== SOCKS_VERSION || (reserved ?? 0) !== 0) return { kind: 'invalid' };
  if (command !== undefined && command !== CONNECT) return { kind: 'refused', reply: 'command' };
  if (type !== undefined && type !== IPV4 && type !== NAME && type !== IPV6)
    return { kind: 'refused', reply: 'addressType' };
  if (type === undefined || first === undefined) return { kind: 'more' };
  const start = type === NAME ? 5 : 4;
  const length = type === NAME ? first : type === IPV4 ? 4 : 16;
  const size = start + length + 2;
  if (bytes.length < size) return { kind: 'more' };
  const host = hostOf(type, bytes.subarray(start, start + length));
  return { kind: 'request', size, host, port: bytes.readUInt16BE(start + length) };
}

function hostOf(type: number, bytes: Buffer): string {
  if (type === IPV4) return bytes.join('.');
  if (type === NAME) return bytes.toString('utf8');
  return Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16)).join(':');
}

/** A reply; the bound address is not given, because it would describe this host. */
export function socksReply(reply: SocksReply): Buffer {
  return Buffer.from([SOCKS_VERSION, SOCKS_REPLY[reply], 0, IPV4, 0, 0, 0, 0, 0, 0]);
}
