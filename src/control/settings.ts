// The configuration as the control plane uses it: durations in ms, limits ready for admission.
import type { AdmissionLimits } from '../domain/admission.ts';
import { parseDuration } from '../domain/duration.ts';
import type { ExecTimeouts } from '../domain/exec-request.ts';
import type { Config } from '../schema/config.ts';
import type { ProviderKind } from '../schema/provider.ts';

export interface Settings {
  enforce_owner: boolean;
  image: string;
  memory_mb: number;
  vcpus: number;
  ttlMs: number;
  /** 0: no cap. */
  maxTtlMs: number;
  exec: ExecTimeouts & { maxOutputBytes: number };
  endedRetentionMs: number;
  eventRetention: number;
  defaultProvider: string;
  /** Ready sandboxes at most, of all templates. */
  maxPrewarm: number;
  /** Limits in force for a spawn on `provider`. */
  limits(provider: ProviderKind): AdmissionLimits;
}

/** Throws `bad_request` for a duration that the configuration loader would not have let through. */
export function controlSettings({ auth, defaults, database, providers }: Config): Settings {
  const { image, memory_mb, vcpus, max_sandboxes } = defaults;
  return {
    enforce_owner: auth.enforce_owner,
    image,
    memory_mb,
    vcpus,
    ttlMs: parseDuration(defaults.ttl, 'defaults.ttl'),
    maxTtlMs: parseDuration(defaults.max_ttl, 'defaults.max_ttl'),
    exec: {
      defaultMs: parseDuration(defaults.default_exec_timeout, 'defaults.default_exec_timeout'),
      maxMs: parseDuration(defaults.max_exec_timeout, 'defaults.max_exec_timeout'),
      maxOutputBytes: defaults.max_exec_output,
    },
    endedRetentionMs: parseDuration(database.ended_retention, 'database.ended_retention'),
    eventRetention: database.event_retention,
    defaultProvider: providers.default,
    maxPrewarm: defaults.max_prewarm,
    limits: (provider) => ({ max_sandboxes, max_provider_sandboxes: providers[provider].max_sandboxes }),
  };
}
