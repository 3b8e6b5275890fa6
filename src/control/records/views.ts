// Records as the API shows them. `env` never leaves; `runtime_id` is for admin keys.
import { egressSummary } from '../../domain/egress/layers.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Sandbox } from '../../schema/sandbox.ts';
import type { SandboxRecord } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';

/** All fields of a sandbox. */
export function sandboxView(row: SandboxRecord): Sandbox {
  const view = plainView(row);
  if (row.runtime_id !== undefined) view.runtime_id = row.runtime_id;
  return view;
}

/** The fields that `caller` may see, with those that this server adds. */
export function shownTo(caller: Caller, sandbox: Sandbox, shown: ViewSettings): Sandbox {
  const view = plainView(sandbox);
  if (caller.role === 'admin' && sandbox.runtime_id !== undefined) view.runtime_id = sandbox.runtime_id;
  const domain = domainOf(sandbox, shown);
  if (domain !== '') view.preview_domain = domain;
  return view;
}

/** Cached views by record. */
type Kept = WeakMap<SandboxRecord, Sandbox>;
const KEPT: Record<'admins' | 'others', Kept> = { admins: new WeakMap(), others: new WeakMap() };

/** The view of a frozen row, one that the store caches, is cached too: lists show a thousand unchanged rows. */
export function shownRow(caller: Caller, row: SandboxRecord, shown: ViewSettings): Sandbox {
  const kept = KEPT[caller.role === 'admin' ? 'admins' : 'others'];
  const known = kept.get(row);
  if (known !== undefined && (known.preview_domain ?? '') === domainOf(row, shown)) return known;
  const view = shownTo(caller, sandboxView(row), shown);
  if (Object.isFrozen(row)) kept.set(row, Object.freeze(view));
  return view;
}

/** The fields for every caller. Built in one order without copies, since lists build a thousand. */
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
  if (from.image_digest !== undefined) view.image_digest = from.image_digest;
  if (from.owner_id !== undefined) view.owner_id = from.owner_id;
  if (from.template !== undefined) view.template = from.template;
  if (from.egress !== undefined)
    view.egress = 'allow_count' in from.egress ? from.egress : egressSummary(from.egress);
  if (from.ended_at !== undefined) view.ended_at = from.ended_at;
  if (from.end_reason !== undefined) view.end_reason = from.end_reason;
  if (from.created_by !== undefined) view.created_by = from.created_by;
  if (from.ended_by !== undefined) view.ended_by = from.ended_by;
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

/** For ids that never existed, are forgotten, or belong to another owner: the caller cannot tell them apart. */
export function unknownSandbox(): ServiceError {
  return new ServiceError('not_found', 'There is no such sandbox.', {
    remedy: 'It may have expired. List sandboxes to see the current ones.',
  });
}

/** For a sandbox that has ended and is still kept. */
export function endedSandbox({
  end_reason,
  ended_at,
  ended_by,
}: Pick<SandboxRecord, 'end_reason' | 'ended_at' | 'ended_by'>): ServiceError {
  return new ServiceError('not_found', 'The sandbox has ended.', {
    remedy: 'Spawn a new one.',
    details: {
      ...(end_reason !== undefined && { end_reason }),
      ...(ended_at !== undefined && { ended_at }),
      ...(ended_by !== undefined && { ended_by }),
    },
  });
}
