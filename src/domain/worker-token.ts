// Signed worker tokens: `svc-worker-v1.<payload>.<signature>`, both base64url, the signature HMAC-SHA-256 over all before
// it (docs/design/api.md#workers). Short-lived, so that one that leaks is soon worthless. Times in them are whole
// seconds since 1970.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isWorkerId } from './worker-id.ts';

const SHAPE = /^(svc-worker-v1\.([A-Za-z0-9_-]{1,2048}))\.([A-Za-z0-9_-]{43})$/;
const JTI = /^[\x21-\x7e]{1,128}$/;
const MAX_SCOPES = 16;
const MAX_LIFE_S = 15 * 60;
const SKEW_S = 30;
const LIFE_S = 5 * 60;

export const WORKER_AUDIENCES = ['worker:control-plane', 'worker:rpc'] as const;
/** The receiver of a token: the control plane, or the worker itself. */
export type WorkerAudience = (typeof WORKER_AUDIENCES)[number];
/** Covers heartbeats and renewals of leases. */
export const HEARTBEAT_SCOPE = 'worker:heartbeat';

export interface WorkerTokenPayload {
  worker_id: string;
  /** The id of the token, for revocation. */
  jti: string;
  aud: WorkerAudience;
  /** Unknown scopes grant nothing. */
  scopes: string[];
  iat: number;
  nbf?: number;
  exp: number;
}

export interface WorkerToken {
  payload: WorkerTokenPayload;
  /** The signed text. */
  signed: string;
  signature: string;
}

export interface FreshToken {
  worker_id: string;
  aud: WorkerAudience;
  jti: string;
  /** The time in ms since 1970. */
  now: number;
  /** The lifetime; 300 if absent, at most 900. */
  lifeSeconds?: number | undefined;
}

/** Makes a token that is valid from now on, with the scope that its audience needs. */
export function freshToken(key: string, { now, lifeSeconds = LIFE_S, ...fresh }: FreshToken): string {
  const iat = Math.floor(now / 1000);
  const scopes = fresh.aud === 'worker:control-plane' ? [HEARTBEAT_SCOPE] : [];
  return mintWorkerToken(key, { ...fresh, scopes, iat, exp: iat + lifeSeconds });
}

/** Signs any payload, also an invalid one. */
export function mintWorkerToken(key: string, payload: WorkerTokenPayload): string {
  const signed = `svc-worker-v1.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`;
  return `${signed}.${signatureOf(key, signed)}`;
}

/** Returns undefined for anything but a worker token. Does not check the signature: see `isTokenSignedWith`. */
export function parseWorkerToken(text: string): WorkerToken | undefined {
  const [, signed = '', body = '', signature = ''] = SHAPE.exec(text) ?? [];
  const payload = signed === '' ? undefined : parsePayload(body);
  return payload && { payload, signed, signature };
}

/** Constant time. Compares texts, not bytes, because several base64url texts encode the same bytes. */
export function isTokenSignedWith(key: string, { signed, signature }: WorkerToken): boolean {
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(key, signed)));
}

/** The reason why a correctly signed token is not valid for `aud` at `now` (ms since 1970), or undefined. */
export function workerTokenFault(
  { aud, iat, nbf = iat, exp, jti }: WorkerTokenPayload,
  expected: { aud: WorkerAudience; now: number; revoked: readonly string[] },
): string | undefined {
  const now = expected.now / 1000;
  if (aud !== expected.aud) return `The token is for ${aud}.`;
  if (expected.revoked.includes(jti)) return 'The token is revoked.';
  if (exp - iat > MAX_LIFE_S) return 'The token is valid for more than 15 minutes.';
  if (exp <= iat || exp <= nbf) return 'The token expires before it becomes valid.';
  if (Math.max(iat, nbf) > now + SKEW_S) return 'The token is not valid yet.';
  return exp <= now ? 'The token has expired.' : undefined;
}

function parsePayload(body: string): WorkerTokenPayload | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body, 'base64url').toString());
    return isPayload(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const FIELDS: Record<keyof WorkerTokenPayload, (value: unknown) => boolean> = {
  worker_id: (value) => typeof value === 'string' && isWorkerId(value),
  jti: (value) => typeof value === 'string' && JTI.test(value),
  aud: (value) => WORKER_AUDIENCES.some((aud) => aud === value),
  scopes: (value) =>
    Array.isArray(value) && value.length <= MAX_SCOPES && value.every((scope) => typeof scope === 'string'),
  iat: isSeconds,
  nbf: (value) => value === undefined || isSeconds(value),
  exp: isSeconds,
};

function isPayload(value: unknown): value is WorkerTokenPayload {
  if (typeof value !== 'object' || value === null) return false;
  const fields = new Map(Object.entries(value));
  return (
    Object.entries(FIELDS).every(([name, fits]) => fits(fields.get(name))) &&
    [...fields.keys()].every((name) => Object.hasOwn(FIELDS, name))
  );
}

function isSeconds(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function signatureOf(key: string, signed: string): string {
  return createHmac('sha256', key).update(signed).digest('base64url');
}
