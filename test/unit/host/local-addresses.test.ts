// Addresses that lead to this host.
import { networkInterfaces } from 'node:os';
import { expect, it } from 'vitest';
import { localAddresses, localRoutes } from '../../../src/host/local-addresses.ts';

it('reads addresses and blocks that the kernel answers from its routes', () => {
  const text = `Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 172.17.0.0/16 2 0 2
           |-- 172.17.0.0
              /16 link UNICAST
           |-- 172.17.0.1
              /32 host LOCAL
        |-- 172.17.255.255
           /32 link BROADCAST
     |-- 198.51.100.0
        /28 host LOCAL
        /24 universe UNICAST
`;
  expect(localRoutes(text)).toEqual(['172.17.0.1', '198.51.100.0/28']);
  expect(localRoutes('|-- x\n   /32 host LOCAL\n')).toEqual([]);
});

it('has every address of an interface, and the loopback, once', () => {
  const listed = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const all = localAddresses();
  expect(all).toEqual(expect.arrayContaining(listed.map(({ address }) => address)));
  expect(all).toContain('127.0.0.0/8');
  expect(new Set(all).size).toBe(all.length);
});
