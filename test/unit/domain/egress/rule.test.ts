// Rules of an egress policy: what they match, and which texts are refused.
import { describe, expect, it } from 'vitest';
import { egressHost } from '../../../../src/domain/egress/host.ts';
import { coversPort, parseRules } from '../../../../src/domain/egress/rule.ts';
import { asServiceError } from '../../../../src/domain/errors.ts';

const covers = (rule: string, host: string, port: number, list: 'allow' | 'deny' = 'allow') => {
  const to = egressHost(host);
  return parseRules([rule], list).some((each) => to && each.matches(to) && coversPort(each, port));
};

describe('rules of egress', () => {
  it.each([
    ['example.com', 'example.com', 443, true],
    ['Example.COM.', 'example.com', 80, true],
    ['example.com', 'example.com', 8080, false],
    ['example.com', 'www.example.com', 443, false],
    ['example.com', 'notexample.com', 443, false],
    ['*.example.com', 'www.example.com', 443, true],
    ['*.example.com', 'a.b.example.com', 443, true],
    ['*.example.com', 'example.com', 443, false],
    ['*.example.com', 'notexample.com', 443, false],
    ['bücher.example', 'xn--bcher-kva.example', 443, true],
    ['db.example.com:5432', 'db.example.com', 5432, true],
    ['db.example.com:5432', 'db.example.com', 443, false],
    ['example.com:8000-8100', 'example.com', 8100, true],
    ['example.com:8000-8100', 'example.com', 8101, false],
    ['example.com:*', 'example.com', 1, true],
    ['*', 'anything.example', 443, true],
    ['*', '203.0.113.7', 443, true],
    ['203.0.113.0/24:*', '203.0.113.200', 22, true],
    ['203.0.113.0/24', '203.0.114.1', 443, false],
    ['203.0.113.7', '0xcb007107', 443, true],
    ['2001:db8::/32', '2001:db8::1', 443, true],
    ['[2001:db8::/32]:22', '2001:db8::1', 22, true],
    ['[2001:db8::1]:22', '2001:db8::1', 443, false],
    // A CIDR block never matches a name: the name would have to be resolved before it is decided.
    ['0.0.0.0/0:*', 'example.com', 443, false],
  ])('%s and %s:%i: %s', (rule, host, port, expected) => {
    expect(covers(rule, host, port)).toBe(expected);
  });

  it('covers every port where a deny rule names none', () => {
    expect(covers('example.com', 'example.com', 8080, 'deny')).toBe(true);
    expect(covers('example.com:443', 'example.com', 8080, 'deny')).toBe(false);
  });

  it.each([
    '',
    'exa*mple.com',
    '*.',
    '*.*.com',
    '*.com',
    '*.203.0.113.7',
    'example.com:0',
    'example.com:65536',
    'example.com:90-80',
    'example.com:https',
    'example.com:',
    'https://example.com',
    'example.com/path',
    '203.0.113.0/33',
    '[2001:db8::/129]',
    'svc.internal',
    '*.svc.internal',
    'key.svc.internal',
    'a b',
    '@unknown',
    '@__proto__',
    '@toString',
  ])('refuses %j', (text) => {
    const parse = () => parseRules([text], 'allow', { groups: { packages: ['pypi.org'] } });
    try {
      parse();
    } catch (error) {
      expect(asServiceError(error)).toMatchObject({ code: 'bad_request', remedy: expect.any(String) });
      return;
    }
    expect.fail('it was accepted');
  });

  it('refuses a rule over 300 characters', () => {
    expect(() => parseRules(['x'.repeat(301)], 'allow')).toThrow('too long');
  });

  it('replaces a group by its rules and names both', () => {
    const groups = { packages: ['pypi.org', '*.pythonhosted.org:443'] };
    expect(parseRules(['@packages', 'example.com'], 'allow', { groups }).map(({ text }) => text)).toEqual([
      '@packages (pypi.org)',
      '@packages (*.pythonhosted.org:443)',
      'example.com',
    ]);
  });

  it('accepts a wildcard below a single label where the operator allows it', () => {
    expect(parseRules(['*.com'], 'allow', { wideAllowed: true })).toHaveLength(1);
  });
});
