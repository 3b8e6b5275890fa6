// Sandbox records, event drafts and limits as stores take them, with what a test does not care about filled in.
import type { AdmissionLimits } from '../../src/domain/admission.ts';
import type { AuditDraft } from '../../src/schema/audit.ts';
import type { Event, EventDraft } from '../../src/schema/event.ts';
import type { EventStore } from '../../src/store/seam/events.ts';
import type { KeyRecord } from '../../src/store/seam/keys.ts';
import type { PrewarmedRecord } from '../../src/store/seam/prewarmed.ts';
import type { TemplateRecord } from '../../src/store/seam/templates.ts';
import type { SandboxRecord } from '../../src/store/store.ts';
import { FAKE_START } from './fakes/ports.ts';

/** The stamp `seconds` after the fake clocks begin. */
export const stamp = (seconds = 0): string => new Date(FAKE_START + seconds * 1000).toISOString();

let count = 0;

/** Stores the events and returns them with their ids. */
export async function appended(events: EventStore, drafts: readonly EventDraft[]): Promise<Event[]> {
  const { newest } = await events.bounds();
  await events.append(drafts);
  return events.since(newest, drafts.length);
}

/** A `creating` record with an id of its own. */
export function sandboxRecord(facts: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id: `sb-${(++count).toString(16).padStart(12, '0')}`,
    epoch: 1,
    state: 'creating',
    provider: 'userspace',
    image: 'host',
    memory_mb: 256,
    vcpus: 1,
    network: 'default',
    created_at: stamp(),
    expires_at: stamp(1800),
    metadata: {},
    env: {},
    worker_id: 'local',
    ...facts,
  };
}

/** A template of version 1 with a name of its own. */
export function templateRecord(facts: Partial<TemplateRecord> = {}): TemplateRecord {
  return {
    name: `template-${++count}`,
    version: 1,
    image: 'host',
    memory_mb: 256,
    vcpus: 1,
    ttl: '30m',
    worker_labels: {},
    metadata: {},
    env: {},
    setup: [],
    prewarm: 0,
    created_at: stamp(),
    updated_at: stamp(),
    ...facts,
  };
}

/** A `starting` warm sandbox with an id of its own. */
export function warmRecord(facts: Partial<PrewarmedRecord> = {}): PrewarmedRecord {
  const { id, epoch, provider, image, memory_mb, vcpus, network, created_at, worker_id } = sandboxRecord();
  const own = { template: 't', shape: 's', state: 'starting' as const, warnings: [] };
  return { id, epoch, provider, image, memory_mb, vcpus, network, created_at, worker_id, ...own, ...facts };
}

export function eventDraft(facts: Partial<EventDraft> = {}): EventDraft {
  return { type: 'sandbox.created', timestamp: stamp(), ...facts };
}

export const NO_CAP: AdmissionLimits = { max_sandboxes: 0, max_provider_sandboxes: 0 };

export function auditDraft(facts: Partial<AuditDraft> = {}): AuditDraft {
  return {
    ...{ actor: 'admin:X-Admin-API-Key', method: 'GET', path: '/api/v1/admin/audit', status: 200 },
    ...{ duration_ms: 1.5, request_id: 'r1', remote_addr: '127.0.0.1', created_at: stamp() },
    ...facts,
  };
}

let keys = 0;

/** A named key of all owners that may use everything. Its id is none that fake ids make. */
export const keyRecord = (facts: Partial<KeyRecord> = {}): KeyRecord => {
  keys += 1;
  const letters = [...String(keys).padStart(12, '0')].map((digit) => 'qrstuvwxyz'[Number(digit)]);
  const id = facts.id ?? `key-${letters.join('')}`;
  return {
    ...{ id, name: `name-${id}`, hash: keys.toString(16).padStart(64, '0'), prefix: 'svc_abcd' },
    ...{ scopes: ['use'], created_at: stamp(), created_by: 'admin:X-Admin-API-Key' },
    ...facts,
  };
};
