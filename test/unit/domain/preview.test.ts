// Names and tokens of previews: one name is read in one way, and a token opens one port of one sandbox until its end.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { previewName, readPreviewName } from '../../../src/domain/preview.ts';
import { previewKey, previewTokenEnd, signPreview } from '../../../src/domain/preview-token.ts';
import { FAKE_START } from '../../support/fakes/ports.ts';

const target = { sandbox_id: 'sb-abcdefghijkl', port: 8080 };

describe('a name', () => {
  it('is read in any letter case, with a port and with a last dot', () => {
    const name = previewName(target, 'p.example.com');
    expect(name).toBe('8080-sb-abcdefghijkl.p.example.com');
    for (const host of [name, name.toUpperCase(), `${name}:7423`, `${name}.`])
      expect(readPreviewName(host, 'p.example.com')).toEqual(target);
    const port = fc.integer({ min: 1, max: 65_535 });
    const id = fc.stringMatching(/^sb[-_][a-z2-7]{12}$/);
    fc.assert(
      fc.property(port, id, (port, sandbox_id) => {
        const one = { port, sandbox_id };
        expect(readPreviewName(previewName(one, 'localhost'), 'localhost')).toEqual(one);
      }),
    );
  });

  it.each([
    ['0-sb-a.p.test', 'strange'],
    ['00080-sb-a.p.test', 'strange'],
    ['65536-sb-a.p.test', 'strange'],
    ['80-.p.test', 'strange'],
    ['80--a.p.test', 'strange'],
    ['80-a-.p.test', 'strange'],
    ['x.80-sb-a.p.test', 'strange'],
    ['80-sb-a.x.p.test', 'strange'],
    [`80-${'a'.repeat(58)}.p.test`, 'strange'],
    ['p.test', undefined],
    ['api.p.test', undefined],
    ['80-sb-a.xp.test', undefined],
    ['80-sb-a.p.test.evil.test', undefined],
    ['80-sb-a.p.test@evil.test', undefined],
    ['80-sb-a.p.test:x', undefined],
    ['80-sb-a.p.test/..', undefined],
    ['[::1]', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s is %s', (host, expected) => expect(readPreviewName(host, 'p.test')).toBe(expected));

  it('means nothing without a domain', () => {
    for (const host of ['80-sb-a.', '80-sb-a', '.', '80-sb-a.localhost'])
      expect(readPreviewName(host, '')).toBeUndefined();
  });
});

describe('a token', () => {
  const key = previewKey(undefined, 'ab'.repeat(32));
  const end = FAKE_START + 60_500;
  const token = signPreview(key, target, end);

  it('opens its own port until its end, in whole seconds', () => {
    expect(previewTokenEnd(key, target, token, FAKE_START)).toBe(Math.floor(end / 1000) * 1000);
    expect(previewTokenEnd(key, target, token, end)).toBeUndefined();
    expect(token).toMatch(/^[0-9a-z]+\.[A-Za-z0-9_-]{43}$/);
  });

  it('is accepted when an earlier version signed it', () => {
    const old = 'vbbc8c.C2wuoba1PleQb6RI3cooB1LANArFXcBKS57n6iXDyzw';
    const configured = previewKey('preview signing key 0123456789', 'ab'.repeat(32));
    const end = Date.UTC(2030, 0, 1, 0, 5);
    expect(previewTokenEnd(configured, target, old, end - 1)).toBe(end);
    expect(signPreview(configured, target, end)).toBe(old);
  });

  it('opens no other port, sandbox or key', () => {
    const others = [
      { ...target, port: 8081 },
      { ...target, sandbox_id: 'sb-abcdefghijkm' },
      { port: 80, sandbox_id: '80\nsb-abcdefghijkl' },
    ];
    for (const other of others) expect(previewTokenEnd(key, other, token, FAKE_START)).toBeUndefined();
    for (const secret of ['a', 'b'.repeat(40)])
      expect(previewTokenEnd(previewKey(secret, 'ab'.repeat(32)), target, token, FAKE_START)).toBeUndefined();
    expect(
      previewTokenEnd(previewKey(undefined, 'ac'.repeat(32)), target, token, FAKE_START),
    ).toBeUndefined();
  });

  it('cannot be forged or extended', () => {
    const [stamp = '', signature = ''] = token.split('.');
    const later = (Number.parseInt(stamp, 36) + 1000).toString(36);
    for (const forged of [
      `${later}.${signature}`,
      `${stamp}.${signature}a`,
      `.${signature}`,
      stamp,
      `${stamp}.`,
      '',
    ])
      expect(previewTokenEnd(key, target, forged, FAKE_START)).toBeUndefined();
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(previewTokenEnd(key, target, text, FAKE_START)).toBeUndefined();
      }),
    );
  });
});
