// Every route of the API, in the order of the description. A route that is not here does not exist.
import type { Route } from '../route.ts';
import { archiveRoutes } from './archive.ts';
import { auditRoutes } from './audit.ts';
import { codeRoutes } from './code.ts';
import { credentialRoutes } from './credentials.ts';
import { downloadRoutes } from './downloads.ts';
import { egressRoutes } from './egress.ts';
import { eventRoutes } from './events.ts';
import { execRoutes } from './exec.ts';
import { fileContentRoutes } from './file-content.ts';
import { fileRoutes } from './files.ts';
import { imageRoutes } from './images.ts';
import { keyRoutes } from './keys.ts';
import { adminMetricRoutes, metricRoutes } from './metrics.ts';
import { poolRoutes } from './pool.ts';
import { previewRoutes } from './previews.ts';
import { adminProviderRoutes, providerRoutes } from './providers.ts';
import { quotaRoutes } from './quotas.ts';
import { sandboxRoutes } from './sandboxes.ts';
import { sessionRoutes } from './sessions.ts';
import { snapshotRoutes } from './snapshots.ts';
import { systemRoutes } from './system.ts';
import { templateRoutes } from './templates.ts';
import { usageRoutes } from './usage.ts';
import { workerRoutes } from './workers.ts';

export const ROUTES: readonly Route[] = [
  ...sandboxRoutes,
  ...execRoutes,
  ...codeRoutes,
  ...previewRoutes,
  ...egressRoutes,
  ...archiveRoutes,
  ...downloadRoutes,
  ...fileContentRoutes,
  ...fileRoutes,
  ...templateRoutes,
  ...quotaRoutes,
  ...usageRoutes,
  ...providerRoutes,
  ...poolRoutes,
  ...snapshotRoutes,
  ...imageRoutes,
  ...workerRoutes,
  ...eventRoutes,
  ...metricRoutes,
  ...adminProviderRoutes,
  ...adminMetricRoutes,
  ...auditRoutes,
  ...keyRoutes,
  ...sessionRoutes,
  ...credentialRoutes,
  ...systemRoutes,
];
