// Tokens of the data plane of one sandbox, for clients that have no API key (docs/e2b.md): `<sandbox id>.<signature>`. They are
// derived from the key of the instance, so nothing is stored, they stay the same for the life of the sandbox, and every server
// on the database knows them. They open nothing once the sandbox has ended.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** `access`: commands and files. `traffic`: ports. `code`: what the code interpreter asks of the service itself. */
export type DataTokenKind = 'access' | 'traffic' | 'code';

const SHAPE = /^([A-Za-z0-9_-]{1,128})\.([A-Za-z0-9_-]{43})$/;

/** The signing key, from the instance's key (hex). HMAC keeps it separate from other secrets made from that key. */
export function dataTokenKey(instanceKey: string): Buffer {
  return createHmac('sha256', Buffer.from(instanceKey, 'hex')).update('svc data tokens').digest();
}

export function dataToken(key: Buffer, kind: DataTokenKind, sandbox_id: string): string {
  return `${sandbox_id}.${signature(key, kind, sandbox_id).toString('base64url')}`;
}

/** The sandbox that `token` opens; undefined for one that this key did not sign. */
export function sandboxOfToken(key: Buffer, kind: DataTokenKind, token: string): string | undefined {
  const [, id, given = ''] = SHAPE.exec(token) ?? [];
  if (id === undefined) return undefined;
  return timingSafeEqual(Buffer.from(given, 'base64url'), signature(key, kind, id)) ? id : undefined;
}

/** A request for a file, as a signed link describes it. */
export interface SignedFile {
  /** Exactly as in the query; empty where it is absent, as `user` is. */
  path: string;
  operation: 'read' | 'write';
  user: string;
  /** Seconds since 1970, as text. */
  expiration?: string | undefined;
}

/** The signature of a link to a file: whoever has the token of the sandbox can make one. */
export function fileSignature(token: string, { path, operation, user, expiration }: SignedFile): string {
  const parts = [path, operation, user, token, ...(expiration === undefined ? [] : [expiration])];
  const digest = createHash('sha256').update(parts.join(':')).digest('base64');
  return `v1_${digest.replace(/=+$/, '')}`;
}

/** In constant time. */
export function isSameText(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}

function signature(key: Buffer, kind: DataTokenKind, sandbox_id: string): Buffer {
  return createHmac('sha256', key).update(`${kind}\n${sandbox_id}`).digest();
}
