// Who a caller is behind proxies, whatever the header says.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addressRanges,
  addressScope,
  isAddressRange,
  originOf,
  plainAddress,
} from '../../../src/domain/address.ts';

const proxies = addressRanges(['10.0.0.0/8', '192.168.1.1', 'fd00::/8']);
const none = addressRanges([]);

describe('the origin of a call', () => {
  it.each<[string, string, string | undefined, string]>([
    ['ignores the header of an untrusted peer', '203.0.113.9', '1.2.3.4', '203.0.113.9'],
    ['follows the header of a proxy', '10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['is the proxy without a header', '10.0.0.1', undefined, '10.0.0.1'],
    ['reads from right to left', '10.0.0.1', '6.6.6.6, 1.2.3.4', '1.2.3.4'],
    ['reads through several proxies', '10.0.0.1', '6.6.6.6, 1.2.3.4, 10.9.9.9 ,192.168.1.1', '1.2.3.4'],
    ['reads a chain of proxies only', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['stops at an entry that is not an address', '10.0.0.1', '1.2.3.4, unknown, 10.0.0.2', '10.0.0.2'],
    ['nonsense', '10.0.0.1', '<script>', '10.0.0.1'],
    ['nothing', '10.0.0.1', '', '10.0.0.1'],
    ['commas', '10.0.0.1', ',,,', '10.0.0.1'],
    ['reads IPv6 with brackets and port', '10.0.0.1', '[2001:db8::1]:443', '2001:db8::1'],
    ['reads IPv4 with a port', '10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
    ['handles a zone', 'fd00::1%eth0', '1.2.3.4', '1.2.3.4'],
    ['reads IPv4 in IPv6', '::ffff:10.0.0.1', '::ffff:1.2.3.4', '1.2.3.4'],
    ['ignores the header of a neighbour of a proxy', '192.168.1.2', '1.2.3.4', '192.168.1.2'],
    ['refuses octal and short forms', '10.0.0.1', '010.0.0.1', '10.0.0.1'],
  ])('%s', (_name, peer, forwarded, origin) => expect(originOf(peer, forwarded, proxies)).toBe(origin));

  it('is the address of the socket without trusted proxies', () => {
    expect(originOf('127.0.0.1', '1.2.3.4', none)).toBe('127.0.0.1');
    expect(originOf('', '1.2.3.4', none)).toBe('');
  });

  it('is read only from the near end of a long chain', () => {
    const chain = ['1.2.3.4', ...Array.from({ length: 40 }, () => '10.0.0.2')].join(',');
    expect(originOf('10.0.0.1', chain, proxies)).toBe('10.0.0.2');
  });

  it('is a valid address for any header', () => {
    const part = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.constantFrom('[', ']:1', '%', '::ffff:'));
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        expect(plainAddress(originOf('10.0.0.1', parts.join(','), proxies))).toBeDefined();
      }),
      { numRuns: 2000 },
    );
  });
});

describe('address ranges', () => {
  it.each(['10.0.0.0/8', '::1', 'fd00::/8', '0.0.0.0/0', '1.2.3.4'])('can be %s', (range) =>
    expect(isAddressRange(range)).toBe(true),
  );
  it.each(['', 'localhost', '10.0.0.0/33', '10.0.0/8', '1.2.3.4/', '/8', 'fd00::/129', '1.2.3.4/-1', '*'])(
    'cannot be %j',
    (range) => expect(isAddressRange(range)).toBe(false),
  );
});

describe('the address that counts as one caller', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8::9', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ])('%s counts as %s', (address, scope) => expect(addressScope(address)).toBe(scope));
});
