// Quotas and admission decisions as text for people.
import type { AdmissionDecision } from '../schema/admission.ts';
import type { Quota, QuotaSummary, QuotaUsage } from '../schema/quota.ts';
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
