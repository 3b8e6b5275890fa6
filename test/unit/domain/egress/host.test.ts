// Spellings of hosts: what two parsers could read differently has one meaning, or none.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { egressHost } from '../../../../src/domain/egress/host.ts';

const spelled = (text: string) => {
  const host = egressHost(text);
  return host && (host.kind === 'name' ? host.name : `<${host.address}>`);
};

describe('hosts of egress', () => {
  it.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.com.', 'example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['ｅｘａｍｐｌｅ.com', 'example.com'],
    ['_service.example.com', '_service.example.com'],
    ['localhost', 'localhost'],
    ['203.0.113.7', '<203.0.113.7>'],
    ['127.1', '<127.0.0.1>'],
    ['0x7f.1', '<127.0.0.1>'],
    ['0177.0.0.1', '<127.0.0.1>'],
    ['2130706433', '<127.0.0.1>'],
    ['0x7f000001', '<127.0.0.1>'],
    ['127.0.0.1.', '<127.0.0.1>'],
    ['１２７.0.0.1', '<127.0.0.1>'],
    ['127。0。0。1', '<127.0.0.1>'],
    ['::1', '<::1>'],
    ['[0:0::1]', '<::1>'],
    ['[::ffff:127.0.0.1]', '<127.0.0.1>'],
    ['::ffff:7f00:1', '<127.0.0.1>'],
    ['fe80::1%eth0', '<fe80::1>'],
    ['2001:DB8::1', '<2001:db8::1>'],
  ])('reads %s as %s', (text, host) => {
    expect(spelled(text)).toBe(host);
  });

  it.each([
    '',
    '.',
    '..',
    'a..b',
    '.example.com',
    'exa mple.com',
    'example.com/..',
    'example.com\\@evil.example',
    'user@example.com',
    'example.com:443',
    'example.com#x',
    'example.com?x',
    '%65xample.com',
    'example.com%00.evil.example',
    'exam\nple.com',
    'exam\0ple.com',
    '256.0.0.1',
    '1.2.3.4.5',
    '[::1',
    '::1]',
    '[127.0.0.1]',
    '[example.com]',
    '-example.com',
    'example-.com',
    '*.example.com',
  ])('refuses %j', (text) => {
    expect(egressHost(text)).toBeUndefined();
  });

  it('refuses labels over 63 and names over 253 characters', () => {
    expect(spelled(`${'a.'.repeat(126)}a`)).toBeDefined();
    for (const text of ['a'.repeat(64), 'a.'.repeat(128), 'x'.repeat(100_000)])
      expect(egressHost(text)).toBeUndefined();
  });

  it('gives every spelling of an address the same meaning', () => {
    const spellings = (value: number) => {
      const bytes = [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
      return [
        bytes.join('.'),
        String(value),
        `0x${value.toString(16)}`,
        bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
        bytes.map((byte) => `0x${byte.toString(16)}`).join('.'),
        `${bytes[0]}.${value & 0xffffff}`,
        `${bytes[0]}.${bytes[1]}.${value & 0xffff}`,
        `::ffff:${bytes.join('.')}`,
      ];
    };
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (value) => {
        const all = spellings(value);
        expect(all.map(spelled)).toEqual(all.map(() => `<${all[0]}>`));
      }),
    );
  });

  it('reads its own spelling as itself, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.domain(), fc.ipV6()), (text) => {
        const host = egressHost(text);
        if (host) expect(egressHost(host.kind === 'name' ? host.name : host.address)).toEqual(host);
      }),
    );
  });
});
