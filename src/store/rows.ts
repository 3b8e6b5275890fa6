// Between records and table rows. Maps of strings are stored as arrays of [key, value] pairs in the JSON that
// JSON.stringify writes: equal pairs are equal text, which is what the metadata filter compares.
import type { EgressCeiling, SandboxEgress } from '../schema/egress.ts';
import type { Event, EventDraft } from '../schema/event.ts';
import type { KeyScope } from '../schema/key-words.ts';
import type { Quota } from '../schema/quota.ts';
import { damaged } from './failures.ts';
import type { KeyRecord } from './seam/keys.ts';
import type { PrewarmedRecord } from './seam/prewarmed.ts';
import type { SecretRecord } from './seam/secrets.ts';
import type { SessionRecord } from './seam/sessions.ts';
import type { SandboxPatch, SandboxRecord, Transition } from './store.ts';

export const SANDBOX_COLUMNS = [
  'id',
  'epoch',
  'state',
  'provider',
  'image',
  'image_digest',
  'memory_mb',
  'vcpus',
  'network',
  'created_at',
  'expires_at',
  'metadata',
  'env',
  'worker_id',
  'owner_id',
  'template',
  'runtime_id',
  'ended_at',
  'end_reason',
  'created_by',
  'ended_by',
  'vm_id',
  'uid',
  'warnings',
  'replica_id',
  'egress',
] as const satisfies readonly (keyof SandboxRecord)[];

export const PATCHED_COLUMNS = [
  'state',
  'epoch',
  'image',
  'image_digest',
  'memory_mb',
  'vcpus',
  'runtime_id',
  'expires_at',
  'ended_at',
  'end_reason',
  'ended_by',
  'warnings',
  'egress',
] as const satisfies readonly (keyof SandboxPatch)[];

type Optional =
  | 'image_digest'
  | 'owner_id'
  | 'template'
  | 'runtime_id'
  | 'ended_at'
  | 'end_reason'
  | 'created_by'
  | 'ended_by'
  | 'vm_id'
  | 'uid'
  | 'replica_id';
type Maps = 'metadata' | 'env';

export type SandboxRow = Omit<SandboxRecord, Optional | Maps | 'warnings' | 'egress'> &
  Record<Maps | 'warnings', string> & { egress: string | null } & {
    [K in Optional]: Exclude<SandboxRecord[K], undefined> | null;
  };

export function toSandboxRow(record: SandboxRecord): SandboxRow {
  return {
    ...record,
    metadata: toPairs(record.metadata),
    env: toPairs(record.env),
    image_digest: record.image_digest ?? null,
    owner_id: record.owner_id ?? null,
    template: record.template ?? null,
    runtime_id: record.runtime_id ?? null,
    ended_at: record.ended_at ?? null,
    end_reason: record.end_reason ?? null,
    created_by: record.created_by ?? null,
    ended_by: record.ended_by ?? null,
    vm_id: record.vm_id ?? null,
    uid: record.uid ?? null,
    warnings: toList(record.warnings),
    replica_id: record.replica_id ?? null,
    egress: toJson(record.egress),
  };
}

/** The columns that a transition sets. An empty `replica_id` becomes null, because null leaves a column as it was. */
export function patchedRow({ patch, replica_id }: Pick<Transition, 'patch' | 'replica_id'>) {
  const { warnings, egress, ...plain } = patch;
  return {
    ...plain,
    ...(warnings !== undefined && { warnings: toList(warnings) }),
    ...(egress !== undefined && { egress: toJson(egress) }),
    ...(replica_id !== undefined && { replica_id: replica_id ?? '' }),
  };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Built up in one order, never deleted from: other objects are slow to make, and lists make a thousand. */
export function fromSandboxRow(row: SandboxRow): SandboxRecord {
  const record: Mutable<SandboxRecord> = {
    id: row.id,
    epoch: row.epoch,
    state: row.state,
    provider: row.provider,
    image: row.image,
    memory_mb: row.memory_mb,
    vcpus: row.vcpus,
    network: row.network,
    created_at: row.created_at,
    expires_at: row.expires_at,
    metadata: fromPairs(row.metadata),
    env: fromPairs(row.env),
    worker_id: row.worker_id,
  };
  if (row.image_digest !== null) record.image_digest = row.image_digest;
  if (row.owner_id !== null) record.owner_id = row.owner_id;
  if (row.template !== null) record.template = row.template;
  if (row.runtime_id !== null) record.runtime_id = row.runtime_id;
  if (row.ended_at !== null) record.ended_at = row.ended_at;
  if (row.end_reason !== null) record.end_reason = row.end_reason;
  if (row.created_by !== null) record.created_by = row.created_by;
  if (row.ended_by !== null) record.ended_by = row.ended_by;
  if (row.vm_id !== null) record.vm_id = row.vm_id;
  if (row.uid !== null) record.uid = row.uid;
  if (row.replica_id !== null) record.replica_id = row.replica_id;
  if (row.egress !== null) record.egress = parse(row.egress) as SandboxEgress;
  if (row.warnings !== NOTHING) record.warnings = parse(row.warnings) as string[];
  return record;
}

export interface EventRow {
  id: number;
  type: string;
  timestamp: string;
  sandbox_id: string | null;
  owner_id: string | null;
  actor: string | null;
  data: string | null;
}

export function toEventRow(id: number, draft: EventDraft): EventRow {
  const { type, timestamp, sandbox_id = null, owner_id = null, actor = null, data } = draft;
  return {
    id,
    type,
    timestamp,
    sandbox_id,
    owner_id,
    actor,
    data: data === undefined ? null : JSON.stringify(data),
  };
}

export function fromEventRow(row: EventRow): Event {
  const { id, type, timestamp, sandbox_id, owner_id, actor, data } = row;
  return {
    id,
    type: type as Event['type'],
    timestamp,
    ...(sandbox_id !== null && { sandbox_id }),
    ...(owner_id !== null && { owner_id }),
    ...(actor !== null && { actor }),
    ...(data !== null && { data: parse(data) as Record<string, unknown> }),
  };
}

export type KeyRow = Record<keyof KeyRecord, string | null>;

/** Leaves out what is NULL. */
export function fromKeyRow(row: KeyRow): KeyRecord {
  const values = Object.entries(row).filter(([, value]) => value !== null);
  const scopes = parse(row.scopes ?? '[]') as KeyScope[];
  return Object.assign(Object.fromEntries(values) as unknown as KeyRecord, { scopes });
}

export type SessionRow = Record<keyof SessionRecord, string | null>;

export function toSessionRow({
  owner_id = null as unknown as string,
  scopes,
  ...rest
}: SessionRecord): SessionRow {
  return { ...rest, owner_id, scopes: JSON.stringify(scopes) };
}

/** Leaves out what is NULL. */
export function fromSessionRow(row: SessionRow): SessionRecord {
  return fromKeyRow(row as unknown as KeyRow) as unknown as SessionRecord;
}

export type PrewarmedRow = Omit<
  PrewarmedRecord,
  'image_digest' | 'runtime_id' | 'warnings' | 'replica_id'
> & {
  image_digest: string | null;
  runtime_id: string | null;
  replica_id: string | null;
  warnings: string;
};

export function toPrewarmedRow(warm: PrewarmedRecord): PrewarmedRow {
  const { image_digest = null, runtime_id = null, replica_id = null, warnings } = warm;
  return { ...warm, image_digest, runtime_id, replica_id, warnings: JSON.stringify(warnings) };
}

export function fromPrewarmedRow({
  image_digest,
  runtime_id,
  replica_id,
  warnings,
  ...rest
}: PrewarmedRow): PrewarmedRecord {
  return {
    ...rest,
    ...(image_digest !== null && { image_digest }),
    ...(runtime_id !== null && { runtime_id }),
    ...(replica_id !== null && { replica_id }),
    warnings: parse(warnings) as string[],
  };
}

/** A quota as a row of its own table: the policy is JSON. */
export type QuotaRow = Omit<Quota, 'egress'> & { egress: string | null };

export const toQuotaRow = (quota: Quota): QuotaRow => ({ ...quota, egress: toJson(quota.egress) });

export function fromQuotaRow({ egress, ...quota }: QuotaRow): Quota {
  return egress === null ? quota : { ...quota, egress: parse(egress) as EgressCeiling };
}

/** A sealed secret as a row: its facts are JSON. */
export type SecretRow = Omit<SecretRecord, 'facts'> & { facts: string };

export const toSecretRow = (secret: SecretRecord): SecretRow => ({
  ...secret,
  facts: JSON.stringify(secret.facts),
});

export const fromSecretRow = (row: SecretRow): SecretRecord => ({
  ...row,
  facts: parse(row.facts) as SecretRecord['facts'],
});

export const toJson = (value: object | undefined): string | null =>
  value === undefined ? null : JSON.stringify(value);

const NOTHING = '[]';

export function toList(texts: readonly string[] = []): string {
  return texts.length === 0 ? NOTHING : JSON.stringify(texts);
}

export function toPairs(map: Record<string, string>): string {
  return JSON.stringify(Object.entries(map));
}

/** Object.fromEntries defines own properties: a key such as `__proto__` stays data. */
export function fromPairs(text: string): Record<string, string> {
  return text === '[]' ? {} : Object.fromEntries(parse(text) as [string, string][]);
}

/** JSON of ours; anything else is damage. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw damaged(error);
  }
}
