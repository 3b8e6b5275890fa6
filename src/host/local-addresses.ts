// Addresses that lead to this host itself, as the kernel's routes say. Lists of interfaces leave out those that are down or have
// no cable, such as the bridge of an engine without containers, and blocks that are routed to the host; the kernel still answers.
import { closeSync, openSync, readSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

const ROUTES = '/proc/net/fib_trie';
const ADDRESSES_OF_IPV6 = '/proc/net/if_inet6';
/** A router with the routes of the internet has more; its interfaces are listed all the same. */
const MOST_BYTES = 512 * 1024;
const WHOLE = '32';

/** Addresses and CIDR blocks, each once. Never throws. */
export function localAddresses(): string[] {
  const listed = Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => address),
  );
  return [...new Set([...listed, ...localRoutes(head(ROUTES)), ...addressesOf(head(ADDRESSES_OF_IPV6))])];
}

/** Those of IPv4 in the text of the kernel's routes, in which an address stands on a line before its kinds. */
export function localRoutes(text: string): string[] {
  let address = '';
  return text.split('\n').flatMap((line) => {
    address = /^ *\|-- (\S+)$/.exec(line)?.[1] ?? address;
    const bits = /^ *\/(\d+) host LOCAL$/.exec(line)?.[1];
    if (bits === undefined || isIP(address) !== 4) return [];
    return [bits === WHOLE ? address : `${address}/${bits}`];
  });
}

/** Each line begins with the digits of an address. */
function addressesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const digits = /^[0-9a-f]{32}(?= )/.exec(line)?.[0];
    return digits === undefined ? [] : [digits.replace(/.{4}(?=.)/g, '$&:')];
  });
}

/** Empty for what cannot be read. */
function head(path: string): string {
  try {
    const file = openSync(path, 'r');
    try {
      return textOf(file);
    } finally {
      closeSync(file);
    }
  } catch {
    return '';
  }
}

/** The kernel gives such files in parts. */
function textOf(file: number): string {
  const bytes = Buffer.alloc(MOST_BYTES);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(file, bytes, length, bytes.length - length, null);
  return bytes.toString('latin1', 0, length);
}
