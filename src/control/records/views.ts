// Records as the API shows them. `env` never leaves; `runtime_id` is for admin keys.
import { ServiceError } from '../../domain/errors.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';

/** Everything there is to show. */
export function sandboxView(row: SandboxRecord): Sandbox {
  const view = plainView(row);
  if (row.runtime_id !== undefined) view.runtime_id = row.runtime_id;
  return view;
}

/** What of it `caller` may see, with what this server adds to all. */
export function shownTo(caller: Caller, sandbox: Sandbox, shown: ViewSettings): Sandbox {
  const view = plainView(sandbox);
  if (caller.role === 'admin' && sandbox.runtime_id !== undefined) view.runtime_id = sandbox.runtime_id;
  const domain = domainOf(sandbox, shown);
  if (domain !== '') view.preview_domain = domain;
  return view;
}

/** By record. */
type Kept = WeakMap<SandboxRecord, Sandbox>;
const KEPT: Record<'admins' | 'others', Kept> = { admins: new WeakMap(), others: new WeakMap() };

/**
 * A row as it is. Of a record that the store keeps, which are frozen, the view is frozen too and the
 * same one each time: lists show a thousand that have not changed.
 */
export function shownRow(caller: Caller, row: SandboxRecord, shown: ViewSettings): Sandbox {
  const kept = KEPT[caller.role === 'admin' ? 'admins' : 'others'];
  const known = kept.get(row);
  if (known !== undefined && (known.preview_domain ?? '') === domainOf(row, shown)) return known;
  const view = shownTo(caller, sandboxView(row), shown);
  if (Object.isFrozen(row)) kept.set(row, Object.freeze(view));
  return view;
}

/** For every caller. Built up in one order, nothing left out of a copy: lists make a thousand. */
function plainView(from: Sandbox | SandboxRecord): Sandbox {
  const view: Sandbox = {
    id: from.id,
    state: from.state,
    provider: from.provider,
    image: from.image,
    memory_mb: from.memory_mb,
    vcpus: from.vcpus,
    created_at: from.created_at,
    expires_at: from.expires_at,
    metadata: from.metadata,
    worker_id: from.worker_id,
  };
  if (from.owner_id !== undefined) view.owner_id = from.owner_id;
  if (from.template !== undefined) view.template = from.template;
  if (from.ended_at !== undefined) view.ended_at = from.ended_at;
  if (from.end_reason !== undefined) view.end_reason = from.end_reason;
  if (from.warnings !== undefined) view.warnings = [...from.warnings];
  return view;
}

export interface ViewSettings {
  /** Empty: there are no previews. */
  preview_domain: string;
  /** Whether a sandbox can have previews; all can where it is absent. */
  hasPreviews?: (sandbox: Pick<SandboxRecord, 'provider' | 'worker_id'>) => boolean;
}

/** Empty where the ports of `sandbox` cannot be reached: its previews answer 501. */
function domainOf(sandbox: Sandbox | SandboxRecord, { preview_domain, hasPreviews }: ViewSettings): string {
  return hasPreviews?.(sandbox) === false ? '' : preview_domain;
}

/** For ids that were never there, that are forgotten, and that belong to somebody else: all the same to the caller. */
export function unknownSandbox(): ServiceError {
  return new ServiceError('not_found', 'There is no such sandbox.', {
    remedy: 'It may have expired. List sandboxes to see the current ones.',
  });
}

/** For one that is still remembered. */
export function endedSandbox({
  end_reason,
  ended_at,
}: Pick<SandboxRecord, 'end_reason' | 'ended_at'>): ServiceError {
  return new ServiceError('not_found', 'The sandbox has ended.', {
    remedy: 'Spawn a new one.',
    details: { ...(end_reason !== undefined && { end_reason }), ...(ended_at !== undefined && { ended_at }) },
  });
}
