// Templates as text for people.
import type { Template } from '../schema/template.ts';
import { policyEntries } from './egress-view.ts';
import { age, type Column, facts, table } from './render.ts';

const columns = (now: number): Column<Template>[] => [
  { title: 'name', value: ({ name }) => name },
  { title: 'version', value: ({ version }) => version, align: 'right' },
  { title: 'image', value: ({ image }) => image },
  { title: 'provider', value: ({ provider }) => provider },
  { title: 'memory', value: ({ memory_mb }) => `${memory_mb} MB`, align: 'right' },
  { title: 'ttl', value: ({ ttl }) => ttl, align: 'right' },
  { title: 'prewarm', value: prewarmText, align: 'right' },
  { title: 'owner', value: ({ owner_id }) => owner_id ?? 'shared' },
  { title: 'updated', value: ({ updated_at }) => age(updated_at, now), align: 'right' },
  { title: 'description', value: ({ description }) => description },
];

/** The requested count, and where the ready ones are: `3 (local 2, edge-1 1)`. */
function prewarmText({ prewarm, ready = {} }: Template): string {
  const on = Object.entries(ready).map(([worker_id, count]) => `${worker_id} ${count}`);
  return on.length === 0 ? String(prewarm) : `${prewarm} (${on.join(', ')})`;
}

/** `now` is ms since 1970, for ages. */
export function templateTable(templates: readonly Template[], now: number): string {
  return table(templates, columns(now), 'No templates.');
}

const pairs = (map: Record<string, string> = {}) =>
  Object.entries(map).map(([key, value]) => `${key}=${value}`);

export function templateFacts(template: Template): string {
  return facts([
    ['name', template.name],
    ['owner', template.owner_id ?? 'shared'],
    ['version', template.version],
    ['description', template.description],
    ['image', template.image],
    ['pull', template.pull],
    ['provider', template.provider],
    ['memory', `${template.memory_mb} MB`],
    ['vcpus', template.vcpus],
    ['ttl', template.ttl],
    ['network', template.network],
    ...policyEntries(template.egress),
    ['metadata', pairs(template.metadata)],
    ['env', pairs(template.env)],
    ['setup', template.setup],
    ['prewarm', prewarmText(template)],
    ['created', template.created_at],
    ['updated', template.updated_at],
  ]);
}
