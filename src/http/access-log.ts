// One line a request, written when its answer is out or its connection gone.
import type { ServerResponse } from 'node:http';
import type { Clock, Logger } from '../domain/ports.ts';

export interface AccessFacts {
  requestId: string;
  method: string;
  /** The route's pattern, never the path: paths hold file names. */
  route: string;
  sandboxId?: string | undefined;
  remoteAddress: string | undefined;
  /** Debug level: probes. */
  quiet: boolean;
}

/** `facts` is asked at the end, when the route is known. */
export function logAccess(
  response: ServerResponse,
  facts: () => AccessFacts,
  { logger, clock }: { logger: Logger; clock: Clock },
): void {
  const begin = clock.monotonic();
  response.once('close', () => {
    const { requestId, method, route, sandboxId, remoteAddress, quiet } = facts();
    const fields = {
      request_id: requestId,
      method,
      route,
      ...(sandboxId === undefined ? undefined : { sandbox_id: sandboxId }),
      status: response.statusCode,
      ms: Math.round((clock.monotonic() - begin) * 1000) / 1000,
      remote_address: remoteAddress,
      ...(response.writableFinished ? undefined : { aborted: true }),
    };
    if (quiet) logger.debug(fields, 'request');
    else logger.info(fields, 'request');
  });
}
