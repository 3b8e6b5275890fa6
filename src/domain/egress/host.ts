// The host that a program in a sandbox wants to reach, in one canonical spelling: decisions never compare text that two
// parsers could read differently.
import { addressGroups, ipVersion } from '../address.ts';

/** A name in lower case by IDNA without a last dot, or an address literal in its shortest spelling without brackets. */
export type EgressHost =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'address'; readonly address: string };

const LONGEST = 253;
const LONGEST_LABEL = 63;
/** What the URL parser would decode, cut off or drop instead of refusing. */
const NEVER_IN_A_HOST = /[\p{Cc}\p{Z}%/\\?#@[\]:,;*]/u;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/**
 * Reads a host as the WHATWG URL standard does, so `0x7f.1`, `2130706433` and full-width digits become addresses.
 * Undefined for anything that is not a host. A zone (`%eth0`) is dropped: a sandbox has no interface of this host.
 */
export function egressHost(text: string): EgressHost | undefined {
  if (text.length > LONGEST + 3) return undefined;
  const bare = withoutZone(/^\[([^\]]*)\]$/.exec(text)?.[1] ?? text);
  if (ipVersion(bare) === 6) return { kind: 'address', address: shortAddress(bare) };
  if (text.startsWith('[') || NEVER_IN_A_HOST.test(bare)) return undefined;
  const host = hostOfUrl(bare)?.replace(/\.$/, '');
  if (host === undefined) return undefined;
  if (ipVersion(host) === 4) return { kind: 'address', address: host };
  return isName(host) ? { kind: 'name', name: host } : undefined;
}

const withoutZone = (text: string) => (ipVersion(text) === 6 ? text.replace(/%.*$/s, '') : text);

/** IPv4 that IPv6 only wraps (RFC 4291, 2.5.5.2) is IPv4. */
function shortAddress(address: string): string {
  const groups = addressGroups(address);
  const isMapped = groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff';
  if (!isMapped) return new URL(`http://[${address}]`).hostname.slice(1, -1);
  const bytes = groups
    .slice(6)
    .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]);
  return bytes.join('.');
}

function hostOfUrl(text: string): string | undefined {
  try {
    return new URL(`http://${text}`).hostname;
  } catch {
    return undefined;
  }
}

function isName(host: string): boolean {
  return (
    host.length <= LONGEST &&
    host.split('.').every((label) => label.length <= LONGEST_LABEL && LABEL.test(label))
  );
}
