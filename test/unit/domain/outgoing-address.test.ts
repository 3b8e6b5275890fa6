// Addresses that a request to a configured URL may and may not reach, in every spelling.
import { describe, expect, it } from 'vitest';
import { addressFault, namesLoopback } from '../../../src/domain/outgoing-address.ts';

describe('addresses of outgoing requests', () => {
  it.each([
    ['169.254.169.254', "a cloud's metadata service"],
    ['169.254.170.2', "a cloud's metadata service"],
    ['100.100.100.200', "a cloud's metadata service"],
    ['168.63.129.16', "a cloud's metadata service"],
    ['fd00:ec2::254', "a cloud's metadata service"],
    ['FD00:0EC2:0:0::254', "a cloud's metadata service"],
    ['fd20:ce::254', "a cloud's metadata service"],
    ['169.254.0.1', 'a link-local address'],
    ['fe80::1', 'a link-local address'],
    ['fe80::1%eth0', 'a link-local address'],
    ['febf::1', 'a link-local address'],
    ['127.0.0.1', 'a loopback address'],
    ['127.255.255.254', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['0:0:0:0:0:0:0:1', 'a loopback address'],
    ['0.0.0.0', 'not the address of one host'],
    ['0.1.2.3', 'not the address of one host'],
    ['::', 'not the address of one host'],
    ['224.0.0.1', 'not the address of one host'],
    ['255.255.255.255', 'not the address of one host'],
    ['240.0.0.1', 'not the address of one host'],
    ['ff02::1', 'not the address of one host'],
    ['fec0::1', 'not the address of one host'],
    ['::127.0.0.1', 'not the address of one host'],
    ['::ffff:169.254.169.254', "a cloud's metadata service"],
    ['::ffff:a9fe:a9fe', "a cloud's metadata service"],
    ['::ffff:7f00:1', 'a loopback address'],
    ['64:ff9b::a9fe:a9fe', "a cloud's metadata service"],
    ['64:ff9b::127.0.0.1', 'a loopback address'],
    ['2002:a9fe:a9fe::1', "a cloud's metadata service"],
    ['2002:7f00:1::', 'a loopback address'],
    ['64:ff9b:1::a9fe:a9fe', 'not the address of one host'],
    ['64:ff9b:1:ffff::808:808', 'not the address of one host'],
    ['::ffff:0:a9fe:a9fe', 'not the address of one host'],
    ['::ffff:0:127.0.0.1', 'not the address of one host'],
    ['2001:0:a9fe:a9fe::1', 'not the address of one host'],
    ['2001:0:4136:e378:8000:63bf:5601:5601', 'not the address of one host'],
    ['2001:10::1', 'not the address of one host'],
    ['2001:20::1', 'not the address of one host'],
    ['2001:1::1', 'not the address of one host'],
    ['100::1', 'not the address of one host'],
    ['5f00::1', 'not the address of one host'],
    ['192.88.99.1', 'not the address of one host'],
    ['fd00::5efe:169.254.169.254', "a cloud's metadata service"],
    ['2001:db8::200:5efe:7f00:1', 'a loopback address'],
    ['example.com', 'no address'],
    ['', 'no address'],
    ['2130706433', 'no address'],
  ])('%s is %s', (address, fault) => {
    expect(addressFault(address, false)).toBe(fault);
  });

  it.each([
    '10.0.0.1',
    '172.16.9.9',
    '192.168.1.1',
    '100.64.0.1',
    '8.8.8.8',
    'fd00::1',
    '2001:db8::1',
    '2001:200::1',
    '2001:4860:4860::8888',
    'fd00::5efe:10.0.0.1',
    '::ffff:10.0.0.1',
    '64:ff9b::808:808',
  ])('%s may be reached', (address) => {
    expect(addressFault(address, false)).toBeUndefined();
  });

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1'])(
    '%s may be reached where loopback is allowed',
    (address) => {
      expect(addressFault(address, true)).toBeUndefined();
    },
  );

  it.each(['169.254.169.254', '0.0.0.0', '::', '::ffff:0.0.0.0'])('%s may never be reached', (address) => {
    expect(addressFault(address, true)).toBeDefined();
  });

  it.each([
    ['http://localhost:1', true],
    ['http://127.9.9.9', true],
    ['http://2130706433', true],
    ['http://[::1]:80', true],
    ['http://localhost.example.com', false],
    ['http://loopback', false],
    ['http://10.0.0.1', false],
  ])('%s names loopback: %s', (url, expected) => {
    expect(namesLoopback(new URL(url))).toBe(expected);
  });
});

describe('private networks', () => {
  it.each([
    '10.0.0.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '64:ff9b::c0a8:101',
  ])('are refused where they are not allowed: %s', (address) => {
    expect(addressFault(address, false, false)).toBe('a private address');
    expect(addressFault(address, false)).toBeUndefined();
  });

  it.each(['8.8.8.8', '172.32.0.1', '2001:4860::8888'])('do not include %s', (address) => {
    expect(addressFault(address, false, false)).toBeUndefined();
  });
});
