// What is done inside a sandbox is done on this server alone (docs/design/api.md#workers: it is not routed to workers).
import { ServiceError } from '../../domain/errors.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';

/** Throws `not_implemented` for a sandbox that another worker runs. */
export function requireLocal({ worker_id }: { worker_id: string }): void {
  if (worker_id === LOCAL_WORKER) return;
  throw new ServiceError(
    'not_implemented',
    'The sandbox runs on another worker: exec, files, logs and previews do not reach it.',
    { remedy: 'Spawn it while the server itself has room.' },
  );
}
