// Decisions of an egress policy: layers only narrow, deny wins, and addresses are judged by what they are.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressRanges } from '../../../../src/domain/address.ts';
import { egressHost } from '../../../../src/domain/egress/host.ts';
import {
  type AddressFacts,
  decideTarget,
  type EgressLayer,
  judgeAddress,
} from '../../../../src/domain/egress/policy.ts';
import { parseRules } from '../../../../src/domain/egress/rule.ts';
import { EGRESS_LAYERS, type EgressLayerName } from '../../../../src/schema/egress.ts';

interface Draft {
  default?: 'allow' | 'deny';
  allow?: string[];
  deny?: string[];
}

const layer = (name: EgressLayerName, draft: Draft): EgressLayer => ({
  name,
  default: draft.default ?? 'deny',
  allow: parseRules(draft.allow ?? [], 'allow'),
  deny: parseRules(draft.deny ?? [], 'deny'),
});
const spawn = (draft: Draft) => [layer('spawn', draft)];
const target = (layers: EgressLayer[], text: string, port = 443) => {
  const host = egressHost(text);
  if (!host) throw new Error(`${text} is not a host`);
  return decideTarget(layers, host, port);
};
const facts = (ranges: string[] = [], own: string[] = []): AddressFacts => ({
  isPermittedPrivate: addressRanges(ranges),
  isOwn: addressRanges(own),
});

describe('targets of egress', () => {
  it('are refused without a layer, and where no rule names them', () => {
    expect(target([], 'example.com')).toEqual({ allowed: false, reason: 'not_allowed' });
    expect(target(spawn({ allow: ['example.org'] }), 'example.com')).toEqual({
      allowed: false,
      reason: 'not_allowed',
      layer: 'spawn',
    });
  });

  it('name the rule and the layer that decided', () => {
    const layers = [
      layer('template', { default: 'allow', deny: ['*.example.com'] }),
      ...spawn({ allow: ['*'] }),
    ];
    expect(target(layers, 'www.example.com')).toEqual({
      allowed: false,
      reason: 'rule_deny',
      rule: '*.example.com',
      layer: 'template',
    });
    expect(target(layers, 'example.com')).toEqual({
      allowed: true,
      reason: 'rule_allow',
      rule: '*',
      layer: 'spawn',
    });
  });

  it('tell a refused port from a refused host', () => {
    expect(target(spawn({ allow: ['example.com'] }), 'example.com', 22).reason).toBe('port_not_allowed');
    expect(target(spawn({ allow: ['example.com'] }), 'example.org', 22).reason).toBe('not_allowed');
  });

  it('reach ports of mail only by a rule that names them', () => {
    expect(target(spawn({ default: 'allow' }), 'mail.example', 25).reason).toBe('port_not_allowed');
    expect(target(spawn({ allow: ['mail.example:*'] }), 'mail.example', 587).reason).toBe('port_not_allowed');
    expect(target(spawn({ allow: ['mail.example:587'] }), 'mail.example', 587).allowed).toBe(true);
    expect(target(spawn({ allow: ['mail.example:500-600'] }), 'mail.example', 587).allowed).toBe(true);
  });
});

describe('addresses of egress', () => {
  const anywhere = spawn({ default: 'allow', allow: ['0.0.0.0/0:*', '::/0'] });
  const judge = (address: string, about = facts(), layers = anywhere) =>
    judgeAddress(layers, address, 443, about);

  it.each([
    ['127.0.0.1', 'address_loopback'],
    ['::1', 'address_loopback'],
    ['169.254.169.254', 'address_metadata'],
    ['64:ff9b::a9fe:a9fe', 'address_metadata'],
    ['169.254.1.1', 'address_link_local'],
    ['fe80::1', 'address_link_local'],
    ['10.0.0.1', 'address_private'],
    ['::ffff:10.0.0.1', 'address_private'],
    ['2002:a00:1::', 'address_private'],
    ['100.64.0.1', 'address_private'],
    ['fd00::1', 'address_private'],
    ['0.0.0.0', 'address_not_one_host'],
    ['255.255.255.255', 'address_not_one_host'],
    ['2001:0:4136:e378::1', 'address_not_one_host'],
  ])('%s is refused: %s, whatever the rules allow', (address, reason) => {
    expect(judge(address)).toMatchObject({ allowed: false, reason });
  });

  it('are refused when they are of this host, also inside another address', () => {
    const own = facts([], ['93.184.216.9']);
    expect(judge('93.184.216.9', own).reason).toBe('address_own_host');
    expect(judge('64:ff9b::93.184.216.9', own).reason).toBe('address_own_host');
    expect(judge('93.184.216.10', own).allowed).toBe(true);
  });

  it('are refused by a deny rule, whatever name led to them', () => {
    const layers = spawn({ allow: ['example.com'], deny: ['93.184.216.0/24'] });
    expect(judge('93.184.216.9', facts(), layers)).toEqual({
      allowed: false,
      reason: 'address_denied',
      rule: '93.184.216.0/24',
      layer: 'spawn',
    });
    expect(judge('64:ff9b::93.184.216.9', facts(), layers).reason).toBe('address_denied');
    expect(judge('8.8.8.8', facts(), layers).allowed).toBe(true);
  });

  it('reach a private network only where the operator and each layer name it', () => {
    const permitted = facts(['10.1.0.0/16']);
    const named = spawn({ allow: ['db.example', '10.1.2.0/24'] });
    expect(judge('10.1.2.3', permitted, named).allowed).toBe(true);
    expect(judge('10.1.2.3', facts(), named).reason).toBe('address_private');
    expect(judge('10.1.3.3', permitted, named)).toMatchObject({ reason: 'address_private', layer: 'spawn' });
    expect(judge('10.1.2.3', permitted, spawn({ default: 'allow' })).reason).toBe('address_private');
    const narrowed = [layer('owner', { allow: ['db.example'] }), ...named];
    expect(judge('10.1.2.3', permitted, narrowed)).toMatchObject({ layer: 'owner' });
  });

  it('reach a private network by a name that the operator and each layer name, and never more', () => {
    const host = { kind: 'name', name: 'mirror.example' } as const;
    const permitted = { ...facts([], ['10.9.9.9']), privateName: host };
    const named = spawn({ allow: ['mirror.example'] });
    expect(judge('10.1.2.3', permitted, named).allowed).toBe(true);
    expect(judge('64:ff9b::10.1.2.3', permitted, named).allowed).toBe(true);
    expect(judge('10.1.2.3', facts(), named).reason).toBe('address_private');
    expect(judge('10.9.9.9', permitted, named).reason).toBe('address_own_host');
    for (const [address, reason] of [
      ['127.0.0.1', 'address_loopback'],
      ['169.254.1.1', 'address_link_local'],
      ['169.254.169.254', 'address_metadata'],
      ['100.100.100.200', 'address_metadata'],
    ] as const)
      expect(judge(address, permitted, named).reason).toBe(reason);
    for (const policy of [{ default: 'allow' as const }, { allow: ['*'] }, { allow: ['other.example'] }])
      expect(judge('10.1.2.3', permitted, spawn(policy)).reason).toBe('address_private');
    const narrowed = [layer('owner', { default: 'allow' }), ...named];
    expect(judge('10.1.2.3', permitted, narrowed)).toMatchObject({ layer: 'owner' });
    const denied = spawn({ allow: ['mirror.example'], deny: ['10.1.0.0/16'] });
    expect(judge('10.1.2.3', permitted, denied).reason).toBe('address_denied');
  });
});

const LABELS = ['a', 'b', 'com', 'net'];
const name = fc
  .array(fc.constantFrom(...LABELS), { minLength: 2, maxLength: 3 })
  .map((labels) => labels.join('.'));
const address = fc.constantFrom(
  '93.184.216.1',
  '93.184.216.200',
  '10.0.0.1',
  '8.8.4.4',
  '2001:db9::1',
  '127.0.0.1',
);
const port = fc.constantFrom(22, 25, 80, 443);
const suffix = fc.constantFrom('', ':*', ':443', ':20-30');
const rule = fc.oneof(
  fc.tuple(name, suffix).map(([host, ports]) => host + ports),
  fc.tuple(name, suffix).map(([host, ports]) => `*.${host}${ports}`),
  fc
    .tuple(fc.constantFrom('93.184.216.0/25', '10.0.0.0/8', '0.0.0.0/0'), suffix)
    .map(([net, ports]) => net + ports),
  fc.constant('*'),
);
const draft = fc.record({
  default: fc.constantFrom('allow' as const, 'deny' as const),
  allow: fc.array(rule, { maxLength: 4 }),
  deny: fc.array(rule, { maxLength: 3 }),
});
const layers = fc
  .array(draft, { minLength: 1, maxLength: 4 })
  .map((drafts) => drafts.map((each, at) => layer(EGRESS_LAYERS[at] as EgressLayerName, each)));

describe('policies of egress', () => {
  it('never allow more with one more layer', () => {
    fc.assert(
      fc.property(layers, fc.oneof(name, address), address, port, (all, host, ip, to) => {
        const fewer = all.slice(0, -1);
        if (fewer.length === 0) return;
        if (target(all, host, to).allowed) expect(target(fewer, host, to).allowed).toBe(true);
        const about = facts(['10.0.0.0/8']);
        if (judgeAddress(all, ip, to, about).allowed)
          expect(judgeAddress(fewer, ip, to, about).allowed).toBe(true);
      }),
    );
  });

  it('never allow what a deny rule of any layer covers', () => {
    fc.assert(
      fc.property(layers, name, port, (all, host, to) => {
        const closed = all.map((each) => ({ ...each, deny: [...each.deny, ...parseRules([host], 'deny')] }));
        for (const [at, each] of closed.entries())
          expect(target([...all.slice(0, at), each, ...all.slice(at + 1)], host, to).allowed).toBe(false);
      }),
    );
  });

  it('allow the same in any order of their rules', () => {
    fc.assert(
      fc.property(layers, fc.oneof(name, address), port, (all, host, to) => {
        const turned = all.map((each) => ({
          ...each,
          allow: each.allow.toReversed(),
          deny: each.deny.toReversed(),
        }));
        expect(target(turned, host, to).allowed).toBe(target(all, host, to).allowed);
      }),
    );
  });
});
