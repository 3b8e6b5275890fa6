// Records as the API shows them. `env` never leaves; `runtime_id` is for admin keys.
import { ServiceError } from '../domain/errors.ts';
import type { Sandbox } from '../schema/sandbox.ts';
import type { SandboxRecord } from '../store/store.ts';
import type { Caller } from './control-plane.ts';

/** Everything there is to show. */
export function sandboxView(row: SandboxRecord, warnings: readonly string[] = []): Sandbox {
  const { id, state, provider, image, memory_mb, vcpus, created_at, expires_at, metadata, worker_id } = row;
  const { owner_id, template, runtime_id, ended_at, end_reason } = row;
  return {
    id,
    state,
    provider,
    image,
    memory_mb,
    vcpus,
    created_at,
    expires_at,
    metadata,
    worker_id,
    ...(owner_id !== undefined && { owner_id }),
    ...(template !== undefined && { template }),
    ...(runtime_id !== undefined && { runtime_id }),
    ...(ended_at !== undefined && { ended_at }),
    ...(end_reason !== undefined && { end_reason }),
    ...(warnings.length > 0 && { warnings: [...warnings] }),
  };
}

/** What of it `caller` may see, with what this server adds to all. */
export function shownTo(caller: Caller, sandbox: Sandbox, { preview_domain }: Shown): Sandbox {
  const { runtime_id, ...rest } = sandbox;
  return {
    ...rest,
    ...(caller.role === 'admin' && runtime_id !== undefined && { runtime_id }),
    ...(preview_domain !== '' && { preview_domain }),
  };
}

export interface Shown {
  /** Empty: there are no previews. */
  preview_domain: string;
}

/** For ids that were never there, that are forgotten, and that belong to somebody else: all the same to the caller. */
export function unknownSandbox(): ServiceError {
  return new ServiceError('not_found', 'There is no such sandbox.', {
    remedy: 'It may have expired; list those there are.',
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
