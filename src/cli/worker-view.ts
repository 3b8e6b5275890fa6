// Workers as text for people.
import { Args } from '@oclif/core';
import type { Worker } from '../schema/worker.ts';
import { age, type Column, facts, sizeText, table } from './render.ts';

export const workerArg = { worker: Args.string({ description: 'Worker id.', required: true }) };

const MEGABYTE = 1024 * 1024;

const stateOf = ({ status, stale, id }: Worker) => (stale && id !== 'local' ? `${status}, stale` : status);
const known = (amount: number) => (amount === 0 ? undefined : amount);
const memoryOf = ({ capacity: { memory_mb } }: Worker) =>
  memory_mb ? sizeText(memory_mb * MEGABYTE) : undefined;
const sandboxesOf = ({ active_sandboxes, capacity }: Worker) =>
  capacity.max_sandboxes === 0 ? `${active_sandboxes}` : `${active_sandboxes} of ${capacity.max_sandboxes}`;

/** Those of its own, and any other that still has sandboxes; each with its count. A server of an earlier version sends no counts. */
function providersOf({ providers, active_by_provider: counts = {} }: Worker): string {
  const all = [...new Set([...providers, ...Object.keys(counts)])];
  return all.map((name) => (counts[name] ? `${name} ${counts[name]}` : name)).join(', ');
}

const labelsOf = ({ labels = {} }: Worker) => Object.entries(labels).map(([key, value]) => `${key}=${value}`);

const columns = (now: number): Column<Worker>[] => [
  { title: 'worker', value: ({ id }) => id },
  { title: 'status', value: stateOf },
  { title: 'sandboxes', value: sandboxesOf, align: 'right' },
  { title: 'free', value: ({ free_sandboxes }) => free_sandboxes, align: 'right' },
  { title: 'by provider', value: providersOf },
  { title: 'cpus', value: ({ capacity }) => known(capacity.vcpus), align: 'right' },
  { title: 'memory', value: memoryOf, align: 'right' },
  { title: 'labels', value: (worker) => labelsOf(worker).join(', ') },
  { title: 'host', value: ({ hostname }) => hostname },
  { title: 'heartbeat', value: ({ last_heartbeat }) => age(last_heartbeat, now), align: 'right' },
];

/** `now` is ms since 1970, for ages. */
export function workerTable(workers: readonly Worker[], now: number): string {
  return table(workers, columns(now), 'No workers.');
}

export function workerFacts(worker: Worker): string {
  const { capacity } = worker;
  return facts([
    ['worker', worker.id],
    ['status', stateOf(worker)],
    ['draining', worker.drain ? 'yes' : 'no'],
    ['host', worker.hostname],
    ['version', worker.version],
    ['url', worker.rpc_url],
    ['providers', worker.providers.join(', ')],
    ['capabilities', worker.capabilities.join(', ')],
    ['sandboxes', sandboxesOf(worker)],
    ['prewarmed', worker.prewarmed_sandboxes],
    ['free', worker.free_sandboxes ?? 'unknown'],
    ['by provider', providersOf(worker)],
    ['labels', labelsOf(worker)],
    ['memory, MB', known(capacity.memory_mb) ?? 'unknown'],
    ['processors', known(capacity.vcpus) ?? 'unknown'],
    ['last heartbeat', worker.last_heartbeat],
    ['registered', worker.created_at],
  ]);
}
