// Which addresses a request to a configured URL may reach (docs/design/reliability.md#outgoing-requests). Private
// networks are where backends live and are allowed; what answers for this machine, its link or its cloud's metadata is
// not, in whichever spelling.
import { BlockList, SocketAddress } from 'node:net';
import { addressGroups, ipVersion } from './address.ts';
import { isLoopbackHost } from './loopback.ts';

/** Why an address may not be reached, in words that follow "is". */
export type AddressFault =
  | 'no address'
  | 'a loopback address'
  | 'a link-local address'
  | "a cloud's metadata service"
  | 'a private address'
  | 'not the address of one host';

const REFUSED: readonly (readonly [AddressFault, readonly string[]])[] = [
  [
    "a cloud's metadata service",
    ['169.254.169.254/32', '169.254.170.2/32', '100.100.100.200/32', '168.63.129.16/32'],
  ],
  ["a cloud's metadata service", ['192.0.0.192/32', 'fd00:ec2::/32', 'fd20:ce::254/128']],
  ['a link-local address', ['169.254.0.0/16', 'fe80::/10']],
  ['a loopback address', ['127.0.0.0/8', '::1/128']],
  // 192.88.99.0/24 are relays of 6to4, which are anybody's (RFC 7526).
  [
    'not the address of one host',
    ['0.0.0.0/8', '192.0.0.0/24', '192.88.99.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ],
  // Site-local (withdrawn), multicast, and what else of ::/96 names no host.
  ['not the address of one host', ['::/96', 'fec0::/10', 'ff00::/8']],
  // Translated by a network's own rules (RFC 8215, RFC 2765), so the target is unknown.
  ['not the address of one host', ['64:ff9b:1::/48', '::ffff:0:0:0/96']],
  // Protocol assignments (RFC 2928): Teredo, whose packets end at an embedded IPv4 address (RFC 4380), identifiers
  // without a location (ORCHID), anycast. Addresses that discard (RFC 6666), and those of segments (RFC 9602).
  ['not the address of one host', ['2001::/23', '100::/64', '100:0:0:1::/64', '5f00::/16']],
];

/** Addresses of IPv6 that hold an IPv4 address: where it begins, in 16-bit groups. RFC 4291, 6052, 3056, 5214 (ISATAP). */
const CARRIERS: readonly (readonly [RegExp, number])[] = [
  [/^(?:0000:){5}ffff:/, 6],
  [/^0064:ff9b:(?:0000:){4}/, 6],
  [/^2002:/, 1],
  [/^(?:[0-9a-f]{4}:){4}0[02]00:5efe:/, 6],
];

/** Networks that are not the internet (RFC 1918, 6598, 4193): refused only to those who may not choose addresses there. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'];
/** For measurements and documents (RFC 2544, 5737, 3849, 9637): where they lead anywhere, it is in a private network. */
const UNUSED = [
  '198.18.0.0/15',
  '192.0.2.0/24',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '2001:db8::/32',
  '3fff::/20',
];
const NOT_PUBLIC = blockList([...PRIVATE, ...UNUSED]);

/** The ranges of IPv4 that are not public, as CIDR blocks. */
export const NOT_PUBLIC_RANGES: readonly string[] = [
  ...REFUSED.flatMap(([, ranges]) => ranges),
  ...PRIVATE,
  ...UNUSED,
].filter((range) => !range.includes(':'));

const LISTS = REFUSED.map(([fault, ranges]) => [fault, blockList(ranges)] as const);

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits = ''] = range.split('/');
    list.addSubnet(net, Number(bits), net.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Why `address`, a literal without brackets, may not be reached; undefined when it may. A zone (`%eth0`) is not looked at. */
export function addressFault(
  address: string,
  loopbackAllowed: boolean,
  privateAllowed = true,
): AddressFault | undefined {
  const bare = address.replace(/%.*$/s, '');
  const version = ipVersion(bare);
  if (version === 0) return 'no address';
  const carried = version === 6 ? carriedAddress(bare) : undefined;
  if (carried !== undefined) return addressFault(carried, loopbackAllowed, privateAllowed);
  // Parsed once for all lists.
  const parsed = new SocketAddress({ address: bare, family: version === 6 ? 'ipv6' : 'ipv4' });
  const fault = LISTS.find(([, list]) => list.check(parsed))?.[0];
  if (fault === undefined && !privateAllowed && NOT_PUBLIC.check(parsed)) return 'a private address';
  return fault === 'a loopback address' && loopbackAllowed ? undefined : fault;
}

/** Whether it can be a name server of sandboxes: at a link-local address there can be the metadata of a cloud, too. */
export const isNameServer = (address: string): boolean =>
  ipVersion(address) === 4 && addressFault(address, false) === undefined;

/** The IPv4 address that an IPv6 address stands for; undefined for others. */
export function carriedAddress(address: string): string | undefined {
  const groups = addressGroups(address).map((group) => group.padStart(4, '0'));
  const text = `${groups.join(':')}:`;
  const start = CARRIERS.find(([shape]) => shape.test(text))?.[1];
  if (start === undefined) return undefined;
  const bytes = groups.slice(start, start + 2).flatMap((group) => [group.slice(0, 2), group.slice(2)]);
  return bytes.map((byte) => Number.parseInt(byte, 16)).join('.');
}

/**
 * Why a host that somebody else names may not be reached, as far as its name says: `host` is a name or a literal without
 * brackets. Where a name leads is judged between look-up and connection.
 */
export function hostFault(host: string, loopbackAllowed: boolean): AddressFault | undefined {
  if (ipVersion(host.replace(/%.*$/s, '')) !== 0) return addressFault(host, loopbackAllowed);
  const isOwn = isLoopbackHost(host) || /(?:^|\.)localhost\.?$/i.test(host);
  return isOwn && !loopbackAllowed ? 'a loopback address' : undefined;
}

/** Whether a configured URL means this machine: then, and only then, its requests may reach loopback addresses. */
export function namesLoopback(url: URL): boolean {
  return isLoopbackHost(url.hostname);
}
