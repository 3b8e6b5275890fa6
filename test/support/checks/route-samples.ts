// One row for each route: who may use it, and a request that it takes. A route without a row fails the access table.
import { PATHS, type RouteId } from '../../../src/http/paths.ts';

/**
 * `open`: no key. `coded`: a code in the request, which the sample makes up. `keyed`: an API key. `owned`: and an owner, while owners are enforced. `admin`: an admin key. `worker`: a
 * credential of the worker `w`.
 */
export type RouteKind = 'open' | 'coded' | 'keyed' | 'owned' | 'admin' | 'worker';

export interface RouteSample {
  kind: RouteKind;
  body?: unknown;
  query?: string;
  /** A tar as the body. */
  archive?: boolean;
}

export const SAMPLES: Record<RouteId, RouteSample> = {
  spawnSandbox: { kind: 'owned', body: {} },
  admitSandbox: { kind: 'owned', body: {} },
  listSandboxes: { kind: 'owned' },
  pruneSandboxes: { kind: 'owned' },
  deleteExpiredSandboxes: { kind: 'owned' },
  getSandbox: { kind: 'owned' },
  destroySandbox: { kind: 'owned' },
  extendSandbox: { kind: 'owned', body: { ttl: '1h' } },
  exec: { kind: 'owned', body: { command: 'true' } },
  execSocket: { kind: 'owned' },
  listExecs: { kind: 'owned' },
  getExec: { kind: 'owned' },
  execOutput: { kind: 'owned' },
  signalExec: { kind: 'owned', body: { signal: 'SIGTERM' } },
  runCode: { kind: 'owned', body: { code: '1 + 1' } },
  listCodeContexts: { kind: 'owned' },
  createCodeContext: { kind: 'owned', body: {} },
  restartCodeContext: { kind: 'owned' },
  removeCodeContext: { kind: 'owned' },
  sandboxLogs: { kind: 'owned' },
  getEgress: { kind: 'owned' },
  putEgress: { kind: 'owned', body: { allow: ['example.com'] } },
  egressLog: { kind: 'owned' },
  suggestEgress: { kind: 'owned' },
  checkEgress: { kind: 'owned', body: { egress: {}, host: 'example.com', port: 443 } },
  egressGroups: { kind: 'keyed' },
  sandboxUsage: { kind: 'owned' },
  listPorts: { kind: 'owned' },
  createPreview: { kind: 'owned', body: { port: 8080 } },
  writeFile: { kind: 'owned', body: { path: '/f', content: '' } },
  putFile: { kind: 'owned', body: { content: '' } },
  readFile: { kind: 'owned', query: '?path=/f' },
  getArchive: { kind: 'owned', query: '?path=/d' },
  putArchive: { kind: 'owned', query: '?path=/d', archive: true },
  removeFile: { kind: 'owned', query: '?path=/f' },
  listFiles: { kind: 'owned' },
  statFile: { kind: 'owned', query: '?path=/f' },
  globFiles: { kind: 'owned', query: '?pattern=/*' },
  linkFile: { kind: 'owned', body: { path: '/f' } },
  downloadFile: { kind: 'coded', query: '?path=/f&code=x' },
  moveFile: { kind: 'owned', body: { old_path: '/f', new_path: '/g' } },
  chmodFile: { kind: 'owned', body: { path: '/f', mode: '644' } },
  makeDirectory: { kind: 'owned', body: { path: '/d' } },
  createTemplate: { kind: 'owned', body: { name: 'fresh', image: 'i' } },
  listTemplates: { kind: 'owned' },
  getTemplate: { kind: 'owned' },
  updateTemplate: { kind: 'owned', body: { image: 'i' } },
  deleteTemplate: { kind: 'owned' },
  spawnTemplate: { kind: 'owned', body: {} },
  listQuotas: { kind: 'keyed' },
  quotaSummary: { kind: 'keyed' },
  getQuota: { kind: 'owned' },
  putQuota: { kind: 'owned', body: {} },
  deleteQuota: { kind: 'owned' },
  quotaUsage: { kind: 'owned' },
  checkQuota: { kind: 'owned', body: {} },
  listOwners: { kind: 'admin' },
  listCredentials: { kind: 'admin' },
  getCredential: { kind: 'admin' },
  putCredential: { kind: 'admin', body: { hosts: ['api.example.com'], value: 'v' } },
  deleteCredential: { kind: 'admin' },
  adminListQuotas: { kind: 'admin' },
  adminQuotaSummary: { kind: 'admin' },
  adminGetQuota: { kind: 'admin' },
  adminPutQuota: { kind: 'admin', body: {} },
  adminDeleteQuota: { kind: 'admin' },
  adminQuotaUsage: { kind: 'admin' },
  poolStatus: { kind: 'keyed' },
  listSnapshots: { kind: 'keyed' },
  listImages: { kind: 'keyed' },
  getImage: { kind: 'keyed', query: '?name=i' },
  pullImage: { kind: 'admin', body: { image: 'i' } },
  importImage: { kind: 'admin', archive: true },
  tagImage: { kind: 'admin', body: { name: 'i', as: 'j' } },
  pruneImages: { kind: 'admin', body: {} },
  deleteImage: { kind: 'admin', query: '?name=i' },
  listWorkers: { kind: 'keyed' },
  getWorker: { kind: 'keyed' },
  adminListWorkers: { kind: 'admin' },
  adminGetWorker: { kind: 'admin' },
  removeWorker: { kind: 'admin' },
  drainWorker: { kind: 'admin', body: { drain: true } },
  repairWorker: { kind: 'admin', body: {} },
  workerHeartbeat: { kind: 'worker', body: {} },
  renewLease: { kind: 'worker', body: { ttl: '90s' } },
  liveUsage: { kind: 'owned' },
  ownerUsage: { kind: 'owned' },
  ownerUsageSandboxes: { kind: 'owned' },
  adminUsage: { kind: 'admin' },
  listProviders: { kind: 'keyed' },
  getProvider: { kind: 'keyed' },
  events: { kind: 'owned', query: '?follow=false' },
  metrics: { kind: 'keyed' },
  metricsText: { kind: 'keyed' },
  diagnostics: { kind: 'keyed' },
  adminListProviders: { kind: 'admin' },
  adminGetProvider: { kind: 'admin' },
  testProviders: { kind: 'admin', body: {} },
  adminMetrics: { kind: 'admin' },
  adminMetricsText: { kind: 'admin' },
  adminDiagnostics: { kind: 'admin', query: '?logs=true' },
  listAudit: { kind: 'admin' },
  createKey: { kind: 'admin', body: { name: 'fresh' } },
  listKeys: { kind: 'admin' },
  getKey: { kind: 'admin' },
  rotateKey: { kind: 'admin', body: {} },
  revokeKey: { kind: 'admin' },
  createSession: { kind: 'keyed', body: {} },
  createLoginCode: { kind: 'keyed', body: {} },
  exchangeLoginCode: { kind: 'coded', body: { code: 'x' } },
  currentIdentity: { kind: 'keyed' },
  renewSession: { kind: 'keyed' },
  endSession: { kind: 'keyed' },
  listSessions: { kind: 'admin' },
  revokeSession: { kind: 'admin' },
  live: { kind: 'open' },
  ready: { kind: 'open' },
  health: { kind: 'open' },
  openapiJson: { kind: 'open' },
  openapiYaml: { kind: 'open' },
};

export const ROUTE_IDS = Object.keys(PATHS) as RouteId[];

/** Sends the sample of route `id` to `base`, about sandbox `sandbox`. */
export async function askSample(
  base: string,
  id: RouteId,
  headers: Record<string, string>,
  sandbox = 'sb-x',
): Promise<{ status: number; text: string; headers: Headers }> {
  const { body: json, query = '', archive } = SAMPLES[id];
  const body = archive ? 'a tar' : json === undefined ? undefined : JSON.stringify(json);
  const type = archive ? 'application/x-tar' : 'application/json';
  const [method = '', pattern = ''] = PATHS[id].split(' ');
  const path = pattern
    .replace('{path}', 'f')
    .replace('{name}', 'userspace')
    .replace('{id}', sandbox)
    .replace('{exec_id}', 'ex-x')
    .replace('{owner_id}', 'a')
    .replace('{key}', 'absent')
    .replace('{session}', 'absent')
    .replace('{worker_id}', 'w')
    .replace('{resource_id}', sandbox);
  const answer = await fetch(`${base}${path}${query}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body }),
  });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}
