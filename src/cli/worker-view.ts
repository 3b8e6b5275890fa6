// Workers as text for people.
import { Args } from '@oclif/core';
import type { Worker } from '../schema/worker.ts';
import { facts, tableOf } from './render.ts';

export const workerArg = { worker: Args.string({ description: 'Worker id.', required: true }) };

const stateOf = ({ status, stale, id }: Worker) => (stale && id !== 'local' ? `${status}, stale` : status);
const roomOf = ({ active_sandboxes, capacity }: Worker) =>
  capacity.max_sandboxes === 0 ? `${active_sandboxes}` : `${active_sandboxes} of ${capacity.max_sandboxes}`;

export const workerTable = tableOf<Worker>(
  [
    { title: 'worker', value: ({ id }) => id },
    { title: 'status', value: stateOf },
    { title: 'sandboxes', value: roomOf, align: 'right' },
    { title: 'providers', value: ({ providers }) => providers.join(', ') },
    { title: 'host', value: ({ hostname }) => hostname },
    { title: 'heartbeat', value: ({ last_heartbeat }) => last_heartbeat },
  ],
  'No workers.',
);

const known = (amount: number) => (amount === 0 ? 'unknown' : amount);

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
    ['sandboxes', roomOf(worker)],
    ['memory, MB', known(capacity.memory_mb)],
    ['processors', known(capacity.vcpus)],
    ['last heartbeat', worker.last_heartbeat],
    ['registered', worker.created_at],
  ]);
}
