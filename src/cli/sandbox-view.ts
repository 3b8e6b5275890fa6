// Sandboxes as text for people.

import { LOCAL_WORKER } from '../domain/worker-id.ts';
import type { ExecItem } from '../schema/exec.ts';
import type { ListeningPort } from '../schema/preview.ts';
import type { Sandbox } from '../schema/sandbox.ts';
import { egressText } from './egress-view.ts';
import { age, type Column, facts, table, tableOf } from './render.ts';

const columns = (now: number): Column<Sandbox>[] => [
  { title: 'id', value: ({ id }) => id },
  { title: 'state', value: ({ state, end_reason }) => (end_reason ? `${state} (${end_reason})` : state) },
  { title: 'provider', value: ({ provider }) => provider },
  { title: 'image', value: ({ image }) => image },
  { title: 'memory', value: ({ memory_mb }) => `${memory_mb} MB`, align: 'right' },
  { title: 'owner', value: ({ owner_id }) => owner_id },
  { title: 'age', value: ({ created_at }) => age(created_at, now), align: 'right' },
  {
    title: 'expires',
    value: ({ expires_at, ended_at }) => (ended_at ? undefined : age(expires_at, now)),
    align: 'right',
  },
];

/** Shown only where a listed sandbox runs on another worker. */
const WORKER: Column<Sandbox> = { title: 'worker', value: ({ worker_id }) => worker_id };
/** Shown only where a listed sandbox has ended. */
const ENDED_BY: Column<Sandbox> = { title: 'ended by', value: ({ ended_by }) => ended_by };

/** `now` is ms since 1970, for ages. */
export function sandboxTable(sandboxes: readonly Sandbox[], now: number): string {
  const shown = columns(now);
  if (sandboxes.some(({ worker_id }) => worker_id !== LOCAL_WORKER)) shown.splice(3, 0, WORKER);
  if (sandboxes.some(({ ended_by }) => ended_by !== undefined)) shown.push(ENDED_BY);
  return table(sandboxes, shown, 'No sandboxes.');
}

export const portTable = tableOf<ListeningPort>(
  [
    { title: 'port', value: ({ port }) => port, align: 'right' },
    { title: 'addresses', value: ({ addresses }) => addresses.join(', ') },
  ],
  'No program listens.',
);

export function sandboxFacts(sandbox: Sandbox): string {
  return facts([
    ['id', sandbox.id],
    ['state', sandbox.state],
    ['provider', sandbox.provider],
    ['image', sandbox.image],
    ['digest', sandbox.image_digest],
    ['memory', `${sandbox.memory_mb} MB`],
    ['vcpus', sandbox.vcpus],
    ['worker', sandbox.worker_id],
    ['owner', sandbox.owner_id],
    ['template', sandbox.template],
    ['egress', sandbox.egress && egressText(sandbox.egress)],
    ['created', sandbox.created_at],
    ['created by', sandbox.created_by],
    ['expires', sandbox.expires_at],
    ['ended', sandbox.ended_at],
    ['end reason', sandbox.end_reason],
    ['ended by', sandbox.ended_by],
    ['runtime', sandbox.runtime_id],
    ['warnings', sandbox.warnings ?? []],
    ['metadata', Object.entries(sandbox.metadata).map(([key, value]) => `${key}=${value}`)],
  ]);
}

const execColumns = (now: number): Column<ExecItem>[] => [
  { title: 'id', value: ({ exec_id }) => exec_id },
  { title: 'state', value: ({ state }) => state },
  { title: 'exit', value: ({ exit_code, signal }) => signal ?? exit_code, align: 'right' },
  { title: 'detached', value: ({ detached }) => (detached ? 'yes' : undefined) },
  { title: 'age', value: ({ started_at }) => age(started_at, now), align: 'right' },
  { title: 'by', value: ({ actor }) => actor },
  { title: 'command', value: ({ command }) => command },
];

/** `now` is ms since 1970, for ages. */
export function execTable(items: readonly ExecItem[], now: number): string {
  return table(items, execColumns(now), 'No commands.');
}
