// The limit on the headers of a request. Node silently drops those after the 2,000th, so a check for repeated headers
// would never see them: a request is refused far below that.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../domain/errors.ts';

export const MAX_HEADERS = 256;

/** The refusal of a request with more than 256 header lines; undefined for every other. */
export function headerCountFailure({ rawHeaders }: IncomingMessage): ServiceError | undefined {
  if (rawHeaders.length <= 2 * MAX_HEADERS) return undefined;
  return new ServiceError('bad_request', `The request has more than ${MAX_HEADERS} headers.`, {
    status: 431,
  });
}
