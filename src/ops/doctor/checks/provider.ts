// Checks that show one finding of a provider's own probe. A provider that nobody relies on is warned of, not failed: both
// kinds are enabled by default, and few machines have both.
import type { Config } from '../../../schema/config.ts';
import type { ProviderKind } from '../../../schema/provider.ts';
import { type Check, fail, type Observation, pass, skip, warn } from '../check.ts';
import type { Patient } from '../patient.ts';

/** Longer than the provider's own deadline. */
export const PROBE_DEADLINE_MS = 20_000;

export const isDisabled = (kind: ProviderKind) => (config: Config) =>
  config.providers[kind].enabled ? undefined : `providers.${kind}.enabled is false.`;

/** `fail` where spawns go to this provider without being asked to, and in production, else `warn`. */
export function failIfNeeded(
  { config, production }: Patient,
  kind: ProviderKind,
  message: string,
  fix?: string,
): Observation {
  const isNeeded = production || config.providers.default === kind;
  return isNeeded ? fail(message, fix) : warn(message, fix);
}

export interface FindingCheck {
  kind: ProviderKind;
  /** Of the finding, and of the check. */
  name: string;
  title: string;
  /** A second `fix` for what the provider's own words do not say. */
  fix?: string;
  /** A missing limit is no reason not to start. */
  isLimit?: boolean;
  /** Never more than a warning. */
  isHint?: boolean;
}

export function findingCheck({ kind, name, title, fix, isLimit, isHint }: FindingCheck): Check {
  return {
    name,
    title,
    deadlineMs: PROBE_DEADLINE_MS,
    look: async (patient, signal) => {
      const { findings, message } = await patient.probe(kind, signal);
      const finding = findings.find((each) => each.name === name);
      if (finding?.ok) return pass(finding.message);
      if (finding && isHint) return warn(finding.message, fix);
      if (finding) return worse(patient, { kind, words: finding.message, fix, isLimit });
      if (findings.length === 0)
        return failIfNeeded(patient, kind, message ?? 'The provider does not answer.', fix);
      return skip('What comes before it failed.');
    },
  };
}

interface Bad {
  kind: ProviderKind;
  words: string;
  fix: string | undefined;
  isLimit: boolean | undefined;
}

function worse(patient: Patient, { kind, words, fix, isLimit }: Bad): Observation {
  if (isLimit && !patient.production) return warn(words, fix);
  return failIfNeeded(patient, kind, words, fix);
}
