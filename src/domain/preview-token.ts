// What opens a signed preview: `<end>.<signature>`, good for one port of one sandbox until its end. Nothing of it is
// stored, so it cannot be taken back before that; with its sandbox it is worthless at once.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { PreviewTarget } from './preview.ts';

const SHAPE = /^([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/;

/** The instance's own key (hex) where the configuration has none. HMAC, so that no other secret made from it helps here. */
export function previewKey(configured: string | undefined, instanceKey: string): Buffer {
  const secret = configured === undefined ? Buffer.from(instanceKey, 'hex') : Buffer.from(configured);
  return createHmac('sha256', secret).update('svc preview links').digest();
}

/** `endsAt` in ms since 1970; a part of a second is dropped. */
export function signPreview(key: Buffer, target: PreviewTarget, endsAt: number): string {
  const end = Math.floor(endsAt / 1000).toString(36);
  return `${end}.${signature(key, target, end).toString('base64url')}`;
}

/** When `token` ends, in ms since 1970; undefined when it is not for `target`, not ours, or over. */
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
