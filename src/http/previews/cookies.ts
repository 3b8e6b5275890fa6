// Cookies between a visitor and a preview: ours opens it and is nobody else's business, and a guest may set cookies for its
// own name alone: one for the parent domain would be sent to every other sandbox.
import { PREVIEW_TOKEN } from '../../domain/preview.ts';

/** Browsers take a name with this prefix from the host itself over TLS alone, so that no sibling can set it. */
const OVER_TLS = `__Host-${PREVIEW_TOKEN}`;
const NAMES: readonly string[] = [PREVIEW_TOKEN, OVER_TLS];
/** More of them than a browser with a right to be here sends. */
const MOST = 8;

/** Tokens that the visitor's cookies hold. */
export function tokensIn(cookie: string | undefined): string[] {
  const ours = (cookie ?? '').split(';').filter((pair) => NAMES.includes(nameOf(pair)));
  return ours.slice(0, MOST).map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
}

/** The header without them; undefined when nothing is left. */
export function withoutOurCookies(cookie: string): string | undefined {
  const theirs = cookie.split(';').filter((pair) => !NAMES.includes(nameOf(pair)));
  return theirs.join(';').trim() || undefined;
}

/** Host-only, since it names no Domain. */
export function tokenCookie(token: string, seconds: number, scheme: 'http' | 'https'): string {
  const rest = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`;
  return scheme === 'https' ? `${OVER_TLS}=${token}; ${rest}; Secure` : `${PREVIEW_TOKEN}=${token}; ${rest}`;
}

/** Whether a guest served under `name` may set this cookie. */
export function isGuestCookie(setCookie: string, name: string): boolean {
  const [pair = '', ...attributes] = setCookie.split(';');
  if (NAMES.includes(nameOf(pair))) return false;
  return attributes.every((attribute) => {
    const [key = '', value = ''] = attribute.split('=');
    if (key.trim().toLowerCase() !== 'domain') return true;
    const domain = value.trim().toLowerCase().replace(/^\./, '');
    return domain === '' || domain === name;
  });
}

const nameOf = (pair: string): string => pair.split('=', 1)[0]?.trim() ?? '';
