// The Idempotency-Key header (docs/design/api.md#idempotency-keys).
import type { IncomingHttpHeaders } from 'node:http';
import { Type } from 'typebox';
import { ServiceError } from '../../domain/errors.ts';

const PATTERN = '^[!-~]{1,255}$';
const SHAPE = new RegExp(PATTERN);
/** For the description: what a repeat means, which differs between calls. */
export const idempotencyKey = (description: string) => Type.String({ pattern: PATTERN, description });

/** As the control plane takes it. Throws `bad_request` unless it is 1 to 255 visible ASCII characters. */
export function idempotencyOf(headers: IncomingHttpHeaders): { idempotencyKey?: string } {
  const key = headers['idempotency-key'];
  if (key === undefined) return {};
  if (typeof key === 'string' && SHAPE.test(key)) return { idempotencyKey: key };
  throw new ServiceError('bad_request', 'Idempotency-Key is not valid.', {
    remedy: 'Use 1 to 255 visible ASCII characters.',
  });
}
