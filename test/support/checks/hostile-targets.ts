// Targets that no sandbox may reach, in every spelling that a parser of somebody's reads as one of them.
import { OWN_PUBLIC } from '../hosts/egress-network.ts';

const LOOPBACK = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.255.255.254', '0x7f.1', '0x7f000001', '0x7F.0x0.0x0.0x1'],
  ...[
    '2130706433',
    '0177.0.0.1',
    '017700000001',
    '0',
    '0.0.0.0',
    '127.0.0.1.',
    '127。0。0。1',
    '１２７.０.０.１',
  ],
  ...[
    '::1',
    '::',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
  ],
  ...['64:ff9b::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::7f00:1', '2002:7f00:1::', '2002:7f00:1::1'],
];
const LINK_LOCAL = [
  '169.254.1.1',
  '0xa9fe0101',
  'fe80::1',
  'fe80::1%eth0',
  '::ffff:169.254.1.1',
  '64:ff9b::a9fe:101',
];
const METADATA = [
  ...[
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '0251.0376.0251.0376',
    '169.254.43518',
    '::ffff:a9fe:a9fe',
  ],
  ...[
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::',
    'fd00:ec2::254',
    '100.100.100.200',
    '169.254.170.2',
    '168.63.129.16',
  ],
];
const PRIVATE = [
  ...[
    '10.0.0.5',
    '10.5',
    '0x0a000005',
    '172.16.0.1',
    '172.31.255.254',
    '192.168.1.1',
    '100.64.0.1',
    'fc00::1',
  ],
  ...['fd12:3456::1', '::ffff:10.0.0.5', '64:ff9b::a00:5', '2002:a00:5::', 'fec0::1'],
];
const NOT_ONE_HOST = [
  ...['198.18.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.250', '240.0.0.1'],
  ...['255.255.255.255', 'ff02::1', '2001:db8::1', '2001:0:53aa:64c::1', '100::1'],
];

/** Addresses of names that a sandbox may ask for, by the name. */
export const HOSTILE_NAMES: Readonly<Record<string, readonly string[]>> = {
  'loopback.example.com': ['127.0.0.1'],
  'loopback6.example.com': ['::1'],
  'mapped.example.com': ['::ffff:127.0.0.1'],
  'nat64.example.com': ['64:ff9b::7f00:1'],
  'link.example.com': ['169.254.7.7'],
  'metadata.google.internal': ['169.254.169.254'],
  'metadata6.example.com': ['fd00:ec2::254'],
  'private.example.com': ['10.0.0.5', '192.168.1.1'],
  'unspecified.example.com': ['0.0.0.0', '::'],
  'own.example.com': [OWN_PUBLIC],
};

/** `own` are the addresses of the host. */
export const hostileTargets = (own: readonly string[]): string[] => [
  ...[...LOOPBACK, ...LINK_LOCAL, ...METADATA, ...PRIVATE, ...NOT_ONE_HOST],
  ...own.flatMap((address) => [address, ...(address.includes(':') ? [] : [`::ffff:${address}`])]),
  ...Object.keys(HOSTILE_NAMES),
  ...['localhost', 'LOCALHOST.', 'keys.svc.internal', 'svc.internal'],
];
