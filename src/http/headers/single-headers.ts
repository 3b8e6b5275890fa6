// Headers that must not come twice: Node joins some with a comma and drops others, and a proxy may have read the one
// that we do not.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';
import { PORT_HEADER } from '../../domain/preview.ts';

const SINGLE = new Set([
  'host',
  'content-type',
  'x-api-key',
  'x-admin-api-key',
  'x-user-id',
  PORT_HEADER,
  'x-worker-id',
  'x-worker-token',
  'idempotency-key',
  'last-event-id',
  'x-worker-lease',
  'x-svc-runtime',
  'x-access-token',
  'e2b-sandbox-id',
  'e2b-sandbox-port',
  'e2b-traffic-access-token',
]);
const LENGTHS = new Set([...SINGLE].map((name) => name.length));

/** Throws `bad_request` naming a header of the list that is there more than once. */
export function refuseRepeated({ rawHeaders }: IncomingMessage): void {
  let seen: string[] | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i]!;
    // Most names differ in length from all of these and need not be lowered.
    if (!LENGTHS.has(raw.length)) continue;
    const name = raw.toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen?.includes(name))
      throw new ServiceError('bad_request', `The header ${name} is given more than once.`);
    seen ??= [];
    seen.push(name);
  }
}
