// The token of a signed preview: `<end>.<signature>`, valid for one port of one sandbox until its end. Tokens are not
// stored, so they cannot be revoked earlier; they are useless once the sandbox has ended.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PreviewTarget } from './preview.ts';

const SHAPE = /^([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/;

/**
 * Derives the signing key from the configured one, or from the instance's key (hex). HMAC keeps it separate from other
 * secrets made from that key.
 */
export function previewKey(configured: string | undefined, instanceKey: string): Buffer {
  const secret = configured === undefined ? Buffer.from(instanceKey, 'hex') : Buffer.from(configured);
  return createHmac('sha256', secret).update('svc preview links').digest();
}

/** `endsAt` is ms since 1970; fractions of a second are dropped. */
export function signPreview(key: Buffer, target: PreviewTarget, endsAt: number): string {
  const end = Math.floor(endsAt / 1000).toString(36);
  return `${end}.${signature(key, target, end).toString('base64url')}`;
}

/**
 * Returns the end of `token` in ms since 1970; undefined if it is not for `target`, has an invalid signature, or has
 * expired.
 */
export function previewTokenEnd(
  key: Buffer,
  target: PreviewTarget,
  token: string,
  now: number,
): number | undefined {
  const [, end = '', given = ''] = SHAPE.exec(token) ?? [];
  if (end === '' || !timingSafeEqual(Buffer.from(given, 'base64url'), signature(key, target, end)))
    return undefined;
  const endsAt = Number.parseInt(end, 36) * 1000;
  return endsAt > now ? endsAt : undefined;
}

function signature(key: Buffer, { sandbox_id, port }: PreviewTarget, end: string): Buffer {
  return createHmac('sha256', key).update(`${port}\n${sandbox_id}\n${end}`).digest();
}
