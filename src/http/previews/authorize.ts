// Decides whether a request may reach a preview. For signed previews the link has the token in its query once: the
// browser is redirected with a cookie instead, so that the token stays out of histories and Referer headers.
import type { IncomingMessage } from 'node:http';
import type { Previews } from '../../control/api/previews.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { PREVIEW_TOKEN, type PreviewTarget, readPreviewName } from '../../domain/preview.ts';
import type { Config } from '../../schema/config.ts';
import { tokenCookie, tokensIn } from './cookies.ts';

export type PreviewAccess =
  /** `url`: what the guest is asked for. */
  { url: string } | { location: string; cookie: string };

export interface AuthorizeDeps {
  previews: Pick<Previews, 'endOfToken'>;
  clock: Clock;
  server: Pick<Config['server'], 'preview_access' | 'preview_domain'>;
}

/** The key that tells visits apart. */
export interface PreviewRequest {
  target: PreviewTarget;
  raw: Pick<IncomingMessage, 'method' | 'headers'>;
  url: string;
  isUpgrade: boolean;
  scheme: 'http' | 'https';
}

/** Throws `unauthorized` without a token that is good for this preview. */
export function authorizePreview(deps: AuthorizeDeps, request: PreviewRequest): PreviewAccess {
  const { token, rest: url } = takeToken(request.url);
  if (deps.server.preview_access === 'public') return { url };
  const { target, raw, isUpgrade, scheme } = request;
  const end = token === undefined ? undefined : deps.previews.endOfToken(target, token);
  if (token !== undefined && end !== undefined) {
    // Only these methods are repeated after the redirect.
    if (isUpgrade || (raw.method !== 'GET' && raw.method !== 'HEAD')) return { url };
    const seconds = Math.max(1, Math.floor((end - deps.clock.now()) / 1000));
    return { location: onThisHost(url), cookie: tokenCookie(token, seconds, scheme) };
  }
  const held = tokensIn(raw.headers.cookie);
  if (isOfThisSandbox(request, deps) && held.some((one) => deps.previews.endOfToken(target, one)))
    return { url };
  throw new ServiceError('unauthorized', 'This preview requires a signed link.', {
    remedy: 'Ask the owner of the sandbox for a new link (svc sandbox preview).',
  });
}

/** The query without the token, the rest of the address as it was. */
function takeToken(url: string): { token?: string; rest: string } {
  const at = url.indexOf('?');
  if (at === -1) return { rest: url };
  const mark = `${PREVIEW_TOKEN}=`;
  const pairs = url.slice(at + 1).split('&');
  const found = pairs.find((pair) => pair.startsWith(mark));
  if (found === undefined) return { rest: url };
  const others = pairs.filter((pair) => !pair.startsWith(mark)).join('&');
  const rest = url.slice(0, at) + (others === '' ? '' : `?${others}`);
  return { token: found.slice(mark.length), rest };
}

/** A path that begins with two slashes would be another host's address. */
function onThisHost(url: string): string {
  return url.replace(/^[/\\]+/, '/');
}

/**
 * Browsers send a preview's cookie with what pages of other sandboxes ask, since all share a site: those may not act in
 * the visitor's name. A page of another port of the same sandbox may.
 */
function isOfThisSandbox({ raw, target }: PreviewRequest, { server }: AuthorizeDeps): boolean {
  const { origin } = raw.headers;
  if (origin === undefined) return true;
  const from = URL.canParse(origin)
    ? readPreviewName(new URL(origin).host, server.preview_domain)
    : undefined;
  return typeof from === 'object' && from.sandbox_id === target.sandbox_id;
}
