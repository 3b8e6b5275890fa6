// Where each operation lies: the one table that the server's routes and the client share, so that they cannot differ
// and the client loads no server. `{name}` is one segment, `{path}` the rest of the path.

/** All paths lie below this. */
export const API_PREFIX = '/api/v1';

export const PATHS = {
  spawnSandbox: 'POST /sandboxes',
  admitSandbox: 'POST /sandboxes/admission',
  listSandboxes: 'GET /sandboxes',
  pruneSandboxes: 'POST /sandboxes/prune',
  deleteExpiredSandboxes: 'DELETE /sandboxes',
  getSandbox: 'GET /sandboxes/{id}',
  destroySandbox: 'DELETE /sandboxes/{id}',
  extendSandbox: 'POST /sandboxes/{id}/extend',
  exec: 'POST /sandboxes/{id}/exec',
  execSocket: 'GET /sandboxes/{id}/exec/ws',
  listExecs: 'GET /sandboxes/{id}/execs',
  getExec: 'GET /sandboxes/{id}/execs/{exec_id}',
  execOutput: 'GET /sandboxes/{id}/execs/{exec_id}/output',
  signalExec: 'POST /sandboxes/{id}/execs/{exec_id}/signal',
  sandboxLogs: 'GET /sandboxes/{id}/logs',
  createPreview: 'POST /sandboxes/{id}/previews',
  writeFile: 'POST /sandboxes/{id}/files',
  putFile: 'PUT /sandboxes/{id}/files/{path}',
  readFile: 'GET /sandboxes/{id}/files',
  removeFile: 'DELETE /sandboxes/{id}/files',
  listFiles: 'GET /sandboxes/{id}/files/list',
  statFile: 'GET /sandboxes/{id}/files/stat',
  globFiles: 'GET /sandboxes/{id}/files/glob',
  moveFile: 'POST /sandboxes/{id}/files/move',
  chmodFile: 'POST /sandboxes/{id}/files/chmod',
  makeDirectory: 'POST /sandboxes/{id}/files/mkdir',
  createTemplate: 'POST /templates',
  listTemplates: 'GET /templates',
  getTemplate: 'GET /templates/{name}',
  updateTemplate: 'PUT /templates/{name}',
  deleteTemplate: 'DELETE /templates/{name}',
  spawnTemplate: 'POST /templates/{name}/spawn',
  listQuotas: 'GET /quotas',
  quotaSummary: 'GET /quotas/summary',
  getQuota: 'GET /quotas/{owner_id}',
  putQuota: 'PUT /quotas/{owner_id}',
  deleteQuota: 'DELETE /quotas/{owner_id}',
  quotaUsage: 'GET /quotas/{owner_id}/usage',
  adminListQuotas: 'GET /admin/quotas',
  adminQuotaSummary: 'GET /admin/quotas/summary',
  adminGetQuota: 'GET /admin/quotas/{owner_id}',
  adminPutQuota: 'PUT /admin/quotas/{owner_id}',
  adminDeleteQuota: 'DELETE /admin/quotas/{owner_id}',
  adminQuotaUsage: 'GET /admin/quotas/{owner_id}/usage',
  listProviders: 'GET /providers',
  getProvider: 'GET /providers/{name}',
  poolStatus: 'GET /pool/status',
  listSnapshots: 'GET /snapshots',
  listWorkers: 'GET /workers',
  getWorker: 'GET /workers/{worker_id}',
  adminListWorkers: 'GET /admin/workers',
  adminGetWorker: 'GET /admin/workers/{worker_id}',
  removeWorker: 'DELETE /admin/workers/{worker_id}',
  drainWorker: 'POST /admin/workers/{worker_id}/drain',
  repairWorker: 'POST /admin/workers/{worker_id}/heartbeat',
  workerHeartbeat: 'POST /worker/{worker_id}/heartbeat',
  renewLease: 'POST /worker/{worker_id}/leases/{resource_id}/renew',
  events: 'GET /events',
  metrics: 'GET /metrics',
  metricsText: 'GET /metrics/prometheus',
  diagnostics: 'GET /diagnostics',
  adminListProviders: 'GET /admin/providers',
  adminGetProvider: 'GET /admin/providers/{name}',
  testProviders: 'POST /admin/providers/test',
  adminMetrics: 'GET /admin/metrics',
  adminMetricsText: 'GET /admin/metrics/prometheus',
  adminDiagnostics: 'GET /admin/diagnostics',
  listAudit: 'GET /admin/audit',
  createKey: 'POST /admin/keys',
  listKeys: 'GET /admin/keys',
  getKey: 'GET /admin/keys/{key}',
  rotateKey: 'POST /admin/keys/{key}/rotate',
  revokeKey: 'DELETE /admin/keys/{key}',
  live: 'GET /live',
  ready: 'GET /ready',
  health: 'GET /health',
  openapiJson: 'GET /openapi.json',
  openapiYaml: 'GET /openapi.yaml',
} as const;

export type RouteId = keyof typeof PATHS;

export const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

/** The method and the path of an operation, `{…}` not filled in. */
export function operationOf(id: RouteId): { method: Method; path: string } {
  const [method, path] = PATHS[id].split(' ') as [Method, string];
  return { method, path };
}
