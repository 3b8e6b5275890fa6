// Cookies of previews: ours is found and kept back, a guest sets none for others.
import { describe, expect, it } from 'vitest';
import {
  isGuestCookie,
  tokenCookie,
  tokensIn,
  withoutOurCookies,
} from '../../../../src/http/previews/cookies.ts';

const NAME = '80-sb-a.p.test';

describe('the cookie of a preview', () => {
  it('is found at any position and repeatedly, up to a bound', () => {
    expect(tokensIn(undefined)).toEqual([]);
    expect(
      tokensIn('a=1; svc_preview=one;__Host-svc_preview=two ; xsvc_preview=no; svc_preview2=no'),
    ).toEqual(['one', 'two']);
    expect(tokensIn('svc_preview=a=b')).toEqual(['a=b']);
    expect(tokensIn('svc_preview=x; '.repeat(500))).toHaveLength(8);
  });

  it('never reaches the guest', () => {
    expect(withoutOurCookies('a=1; svc_preview=one; b=2')).toBe('a=1; b=2');
    expect(withoutOurCookies('svc_preview=one')).toBeUndefined();
    expect(withoutOurCookies('__Host-svc_preview=one; svc_preview =x')).toBeUndefined();
    expect(withoutOurCookies('a="x; y"; b')).toBe('a="x; y"; b');
  });

  it('is bound to the host, and to TLS where in use', () => {
    expect(tokenCookie('t', 9, 'http')).toBe('svc_preview=t; Path=/; Max-Age=9; HttpOnly; SameSite=Lax');
    expect(tokenCookie('t', 9, 'https')).toBe(
      '__Host-svc_preview=t; Path=/; Max-Age=9; HttpOnly; SameSite=Lax; Secure',
    );
  });
});

it.each([
  ['a=1', true],
  ['a=1; Path=/; Secure; HttpOnly', true],
  [`a=1; Domain=${NAME}`, true],
  [`a=1; domain=.${NAME.toUpperCase()}`, true],
  ['a=1; Domain=', true],
  ['a=1; Domain=p.test', false],
  ['a=1;DOMAIN = .p.test ', false],
  [`a=1; Domain=${NAME}; Domain=p.test`, false],
  ['a=1; Domain=81-sb-b.p.test', false],
  ['svc_preview=x', false],
  [' __Host-svc_preview =x; Secure', false],
])('a guest may set %j: %s', (cookie, expected) => expect(isGuestCookie(cookie, NAME)).toBe(expected));
