// The Idempotency-Key header (api.md part 1).
import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';

const SHAPE = /^[\x21-\x7e]{1,255}$/;

/** As the control plane takes it. Throws `bad_request` unless it is 1 to 255 visible ASCII characters. */
export function idempotencyOf(headers: IncomingHttpHeaders): { idempotencyKey?: string } {
  const key = headers['idempotency-key'];
  if (key === undefined) return {};
  if (typeof key === 'string' && SHAPE.test(key)) return { idempotencyKey: key };
  throw new ServiceError('bad_request', 'Idempotency-Key is not valid.', {
    remedy: 'Use 1 to 255 visible ASCII characters.',
  });
}
