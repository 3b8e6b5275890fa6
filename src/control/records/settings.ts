// The configuration as the control plane uses it: durations in ms, limits ready for admission.
import type { AdmissionLimits } from '../../domain/admission.ts';
import { parseDuration } from '../../domain/duration.ts';
import type { ExecTimeouts } from '../../domain/exec-request.ts';
import type { LiveConfig } from '../../domain/live-config.ts';
import type { PoolLimits } from '../../domain/pool.ts';
import { effectiveLimits, type OwnerLimits } from '../../domain/quota.ts';
import type { Config } from '../../schema/config.ts';
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { PullPolicy } from '../../schema/image-policy.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { QuotaStore } from '../../store/seam/quotas.ts';
import type { ViewSettings } from './views.ts';

const SHORTEST_RECONCILE_MS = 1000;

/** What a reload of the configuration may change is a getter: read it at each use. */
export interface Settings extends ViewSettings, Limits {
  enforce_owner: boolean;
  image: string;
  /** Whether spawns pull images. */
  pull: PullPolicy;
  /** Owners who may use images that were pulled with credentials; `*` for all. */
  privateOwners: readonly string[];
  /** Egress policies. */
  egress: EgressConfig;
  /** Whether this process opens connections for sandboxes; set with the parts that do. */
  opensEgress?: boolean;
  /** How long a spawn waits for a pull. */
  spawnWaitMs: number;
  /** Whether a spawn is strict that does not say. */
  strict: boolean;
  memory_mb: number;
  vcpus: number;
  ttlMs: number;
  endedRetentionMs: number;
  /** The most ended sandboxes that are kept. */
  mostEnded: number;
  eventRetention: number;
  auditRetentionMs: number;
  /** Newest audit records among which those of sandboxes are kept. */
  mostAudited: number;
  reconcileEveryMs: number;
  defaultProvider: string;
  /** The most prewarmed sandboxes, of all templates. */
  maxPrewarm: number;
  /** What is kept ready without a template; absent: nothing. */
  readonly autoPrewarm?: { max: number; memory_mb: number } | undefined;
  /** Sandboxes share VMs; absent: each has a runtime of its own. */
  pool?: PoolLimits;
  /** The limits that apply to a spawn on `provider`; without one those that apply to all. */
  limits(provider?: ProviderKind): AdmissionLimits;
  queue: QueueSettings;
}

/** Limits that a reload may change. */
interface Limits {
  /** The limits of owners without a quota of their own, and of spawns without an owner; 0: no limit. */
  readonly ownerLimits: OwnerLimits;
  /** The longest timeout is in the owner's limits. */
  readonly exec: Pick<ExecTimeouts, 'defaultMs'> & { maxOutputBytes: number };
}

export interface QueueSettings {
  overflow: 'reject' | 'queue';
  /** From the first enqueue to the start. */
  timeoutMs: number;
  /** Spawns that may wait. */
  most: number;
}

/** Throws `bad_request` for a duration that the configuration loader would have rejected. */
export function controlSettings(config: LiveConfig): Settings {
  const { server, auth, audit, defaults, database, egress, images, providers, pool } = config.current();
  let limits = limitsFrom(defaults);
  config.onChange((next) => {
    limits = limitsFrom(next.defaults);
  });
  // In a pool a sandbox has the resources of its VM.
  const { image, memory_mb, vcpus } = pool.enabled ? pool : defaults;
  const places = pool.enabled
    ? { pool: { max_vms: pool.max_vms, max_users_per_vm: pool.max_users_per_vm } }
    : {};
  return {
    enforce_owner: auth.enforce_owner,
    preview_domain: server.preview_domain,
    image,
    pull: images.pull,
    privateOwners: images.private_owners,
    egress,
    spawnWaitMs: parseDuration(images.spawn_wait, 'images.spawn_wait'),
    strict: defaults.strict,
    memory_mb,
    vcpus,
    ttlMs: parseDuration(defaults.ttl, 'defaults.ttl'),
    get ownerLimits() {
      return limits.ownerLimits;
    },
    get exec() {
      return limits.exec;
    },
    endedRetentionMs: parseDuration(database.ended_retention, 'database.ended_retention'),
    mostEnded: database.max_ended_sandboxes,
    eventRetention: database.event_retention,
    mostAudited: audit.max_records,
    auditRetentionMs: parseDuration(auth.admin_audit_retention, 'auth.admin_audit_retention'),
    reconcileEveryMs: Math.max(
      SHORTEST_RECONCILE_MS,
      parseDuration(providers.reconcile_interval, 'providers.reconcile_interval'),
    ),
    defaultProvider: providers.default,
    // Sandboxes that share a VM cannot be prepared before their owner is known.
    maxPrewarm: pool.enabled ? 0 : defaults.max_prewarm,
    get autoPrewarm() {
      const { auto, auto_max: max, auto_memory_mb: memory_mb } = config.current().prewarm;
      return auto && defaults.max_prewarm > 0 && !pool.enabled ? { max, memory_mb } : undefined;
    },
    ...places,
    limits: (provider) => ({
      max_sandboxes: config.current().defaults.max_sandboxes,
      ...(provider && { max_provider_sandboxes: providers[provider].max_sandboxes }),
      owner: limits.ownerLimits,
      ...places,
    }),
    queue: {
      overflow: defaults.spawn_overflow,
      timeoutMs: parseDuration(defaults.spawn_queue_timeout, 'defaults.spawn_queue_timeout'),
      most: defaults.max_spawn_queue,
    },
  };
}

function limitsFrom(defaults: Config['defaults']): Limits {
  return {
    ownerLimits: {
      max_sandboxes: defaults.max_sandboxes_per_owner,
      maxTtlMs: parseDuration(defaults.max_ttl, 'defaults.max_ttl'),
      maxExecTimeoutMs: parseDuration(defaults.max_exec_timeout, 'defaults.max_exec_timeout'),
    },
    exec: {
      defaultMs: parseDuration(defaults.default_exec_timeout, 'defaults.default_exec_timeout'),
      maxOutputBytes: defaults.max_exec_output,
    },
  };
}

/** Returns the defaults without an owner. */
export type LimitsOf = (owner_id: string | undefined) => Promise<OwnerLimits>;

export function ownerLimits(
  quotas: Pick<QuotaStore, 'get'>,
  settings: { readonly ownerLimits: OwnerLimits },
): LimitsOf {
  return async (owner_id) => {
    const quota = owner_id === undefined ? undefined : await quotas.get(owner_id);
    return effectiveLimits(quota, settings.ownerLimits);
  };
}
