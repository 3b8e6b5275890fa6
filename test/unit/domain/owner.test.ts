// Owner names, hostile ones above all.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseOwner } from '../../../src/domain/owner.ts';

const parse = (text: string) => parseOwner(text, 'X-User-ID');

describe('parseOwner', () => {
  it.each(['a', 'team-7', 'ann@example.org', '日本', 'x'.repeat(128), '😀'.repeat(128)])(
    'accepts %j',
    (text) => {
      expect(parse(text)).toBe(text);
    },
  );

  it('trims spaces around a name', () => expect(parse(' \t ann\n')).toBe('ann'));

  it.each([
    ...['\u00a0ann', 'ann\u00a0', '\u3000ann', 'ann\u2003', '\ufeffann', 'ann\u2028', '\u0085ann', '\u00a0'],
    ...[
      'an\u200bn',
      'an\u200dn',
      'an\u00adn',
      'an\u202en',
      'an\u2060n',
      'an\ufe0fn',
      'an\u034fn',
      'an\u3164n',
    ],
    ...['an\u115fn', 'an\uffa0n', 'an\u{e0041}n', 'an\u2800n', 'an\u180en', 'an\u061cn'],
    '',
    '  ',
    'a b',
    'a\u00a0b',
    'a\tb',
    'a\u0000b',
    'a\u0085b',
    'a/b',
    'a\\b',
    '\ud800',
    'x'.repeat(129),
    '😀'.repeat(129),
  ])('refuses %j', (text) =>
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'bad_request', message: expect.stringMatching(/^X-User-ID /) }),
    ),
  );

  it('refuses a name or returns one that it accepts unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        let owner: string;
        try {
          owner = parse(text);
        } catch (error) {
          expect(error).toMatchObject({ name: 'ServiceError', code: 'bad_request' });
          return;
        }
        expect(parse(owner)).toBe(owner);
        expect([...owner].length).toBeLessThanOrEqual(128);
        expect(owner).not.toMatch(/[\s/\\]/);
      }),
      { numRuns: 3000 },
    );
  });
});
