// Between workers and rows of their table. Lists and labels are stored as JSON.
import type { HeartbeatBody, WorkerStatus } from '../schema/worker.ts';
import { parse } from './rows.ts';
import type { WorkerRecord } from './seam/workers.ts';

export interface WorkerRow {
  id: string;
  hostname: string;
  status: string;
  providers: string;
  capabilities: string;
  labels: string;
  max_sandboxes: number;
  memory_mb: number;
  vcpus: number;
  rpc_url: string | null;
  version: string | null;
  last_heartbeat: string;
  drain: number;
  created_at: string;
  updated_at: string;
  /** Sandboxes that have not ended, by provider, as a JSON object. */
  active: string;
  prewarmed: number;
}

/** The columns that a heartbeat sets; null leaves a value as it was. An empty `rpc_url` clears the address. */
export function heartbeatRow({ capacity, ...body }: HeartbeatBody) {
  const { hostname, status, providers, capabilities, labels, images, rpc_url, version } = body;
  const text = (list: object | undefined) => (list === undefined ? null : JSON.stringify(list));
  return {
    hostname: hostname ?? null,
    status: status ?? null,
    providers: text(providers),
    capabilities: text(capabilities),
    labels: text(labels),
    images: text(images),
    max_sandboxes: capacity?.max_sandboxes ?? null,
    memory_mb: capacity?.memory_mb ?? null,
    vcpus: capacity?.vcpus ?? null,
    rpc_url: rpc_url ?? null,
    version: version ?? null,
  };
}

export function fromWorkerRow(row: WorkerRow): WorkerRecord {
  const { max_sandboxes, memory_mb, vcpus, rpc_url, version } = row;
  const { id, hostname, last_heartbeat, created_at, updated_at } = row;
  const counts = Object.entries(parse(row.active) as Record<string, number>).filter(([, count]) => count > 0);
  return {
    id,
    hostname,
    status: row.status as WorkerStatus,
    providers: parse(row.providers) as string[],
    capabilities: parse(row.capabilities) as string[],
    labels: labelsOf(row),
    capacity: { max_sandboxes, memory_mb, vcpus },
    last_heartbeat,
    drain: row.drain !== 0,
    created_at,
    updated_at,
    active_sandboxes: counts.reduce((sum, [, count]) => sum + count, 0),
    active_by_provider: Object.fromEntries(counts),
    prewarmed_sandboxes: row.prewarmed,
    ...(rpc_url !== null && { rpc_url }),
    ...(version !== null && { version }),
  };
}

export const labelsOf = ({ labels }: Pick<WorkerRow, 'labels'>) => parse(labels) as Record<string, string>;
