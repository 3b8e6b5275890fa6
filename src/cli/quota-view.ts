// Quotas and admission decisions as text for people.
import type { AdmissionDecision } from '../schema/admission.ts';
import type { Quota, QuotaCheck, QuotaSummary, QuotaUsage } from '../schema/quota.ts';
import { policyEntries } from './egress-view.ts';
import { facts, tableOf } from './render.ts';

const INHERITS = 'default';
const own = (value: number | string) => (value === 0 || value === '0s' ? INHERITS : value);
const cap = (value: number | string) => (value === 0 || value === '0s' ? 'no cap' : value);
const used = (count: number, most: number) => (most === 0 ? `${count} (no cap)` : `${count} of ${most}`);

export const quotaTable = tableOf<Quota>(
  [
    { title: 'owner', value: ({ owner_id }) => owner_id },
    { title: 'sandboxes', value: ({ max_sandboxes }) => own(max_sandboxes), align: 'right' },
    { title: 'ttl', value: ({ max_ttl }) => own(max_ttl), align: 'right' },
    { title: 'exec timeout', value: ({ max_exec_timeout }) => own(max_exec_timeout), align: 'right' },
    { title: 'updated', value: ({ updated_at }) => updated_at },
  ],
  'No owner has its own quota.',
);

export function quotaFacts(quota: Quota): string {
  return facts([
    ['owner', quota.owner_id],
    ['max sandboxes', own(quota.max_sandboxes)],
    ['max ttl', own(quota.max_ttl)],
    ['max exec timeout', own(quota.max_exec_timeout)],
    ...policyEntries(quota.egress),
    ['created', quota.created_at],
    ['updated', quota.updated_at],
  ]);
}

export const ownerTable = tableOf<QuotaUsage>(
  [
    { title: 'owner', value: ({ owner_id }) => owner_id },
    { title: 'active', value: ({ active_sandboxes }) => active_sandboxes, align: 'right' },
    { title: 'sandboxes', value: ({ max_sandboxes }) => cap(max_sandboxes), align: 'right' },
    { title: 'ttl', value: ({ max_ttl }) => cap(max_ttl), align: 'right' },
    { title: 'exec timeout', value: ({ max_exec_timeout }) => cap(max_exec_timeout), align: 'right' },
    { title: 'own quota', value: ({ quota_configured }) => (quota_configured ? 'yes' : 'no') },
  ],
  'No owner has sandboxes, a quota or use.',
);

export function checkFacts({
  owner_id,
  active_sandboxes,
  before,
  after,
  over,
  free,
  longer,
}: QuotaCheck): string {
  const change = (from: number | string, to: number | string) =>
    from === to ? `${cap(to)}, unchanged` : `${cap(from)}, then ${cap(to)}`;
  return facts([
    ['owner', owner_id],
    ['active sandboxes', active_sandboxes],
    ['max sandboxes', change(before.max_sandboxes, after.max_sandboxes)],
    ['max ttl', change(before.max_ttl, after.max_ttl)],
    ['max exec timeout', change(before.max_exec_timeout, after.max_exec_timeout)],
    [
      'above the limit',
      over === 0 ? 'none' : `${over}, which continue to run; new ones are refused until they have ended`,
    ],
    ['could still start', free ?? 'no cap'],
    ['end later than the ttl', longer === 0 ? 'none' : `${longer}, which keep their time`],
  ]);
}

export function usageFacts(usage: QuotaUsage): string {
  return facts([
    ['owner', usage.owner_id],
    ['active sandboxes', usage.active_sandboxes],
    ['max sandboxes', cap(usage.max_sandboxes)],
    ['max ttl', cap(usage.max_ttl)],
    ['max exec timeout', cap(usage.max_exec_timeout)],
    ['own quota', usage.quota_configured ? 'yes' : 'no'],
  ]);
}

export function summaryFacts(summary: QuotaSummary): string {
  return facts([
    ['owners with a quota', summary.total],
    ['of these, sandboxes', summary.with_max_sandboxes],
    ['of these, ttl', summary.with_max_ttl],
    ['of these, exec timeout', summary.with_max_exec_timeout],
  ]);
}

export function admissionFacts(decision: AdmissionDecision): string {
  const { allowed, queueable, active_owner_sandboxes, max_owner_sandboxes = 0 } = decision;
  const ofOwner =
    active_owner_sandboxes === undefined ? undefined : used(active_owner_sandboxes, max_owner_sandboxes);
  return facts([
    ['allowed', allowed ? 'yes' : queueable ? 'no, but it can be queued' : 'no'],
    ['reason', decision.reason],
    ['message', decision.message],
    ['active sandboxes', used(decision.active_sandboxes, decision.max_sandboxes)],
    ['of this owner', ofOwner],
    ['max ttl', decision.max_ttl],
    ['provider', decision.provider],
    ['worker', decision.selected_worker_id],
    ['queued', `${decision.queue_depth} of ${decision.max_spawn_queue}`],
  ]);
}
