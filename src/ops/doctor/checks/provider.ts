// Checks that show one finding of a provider's own probe. A provider that nobody relies on is warned of, not failed: both
// kinds are enabled by default, and few machines have both.
import type { Config } from '../../../schema/config.ts';
import type { ProviderKind } from '../../../schema/provider.ts';
import type { CheckContext } from '../check.ts';
import { type Check, type Finding, fail, pass, skip, warn } from '../check.ts';

/** Longer than the provider's own deadline. */
export const PROBE_DEADLINE_MS = 20_000;

export const isDisabled = (kind: ProviderKind) => (config: Config) =>
  config.providers[kind].enabled ? undefined : `providers.${kind}.enabled is false.`;

/** `fail` where spawns go to this provider without being asked to, and in production, else `warn`. */
export function failIfNeeded(
  { config, production }: CheckContext,
  kind: ProviderKind,
  message: string,
  remedy?: string,
): Finding {
  const isNeeded = production || config.providers.default === kind;
  return isNeeded ? fail(message, remedy) : warn(message, remedy);
}

export interface FindingCheck {
  kind: ProviderKind;
  /** The severity of the finding, and of the check. */
  name: string;
  title: string;
  /** A second `remedy` for what the provider's own words do not say. */
  remedy?: string;
  /** A missing limit does not prevent a start. */
  isLimit?: boolean;
  /** Never more than a warning. */
  isHint?: boolean;
}

export function findingCheck({ kind, name, title, remedy, isLimit, isHint }: FindingCheck): Check {
  return {
    name,
    title,
    deadlineMs: PROBE_DEADLINE_MS,
    look: async (context, signal) => {
      const { findings, message } = await context.probe(kind, signal);
      const finding = findings.find((each) => each.name === name);
      if (finding?.ok) return pass(finding.message);
      if (finding && isHint) return warn(finding.message, remedy);
      if (finding) return worse(context, { kind, message: finding.message, remedy, isLimit });
      if (findings.length === 0)
        return failIfNeeded(context, kind, message ?? 'The provider does not respond.', remedy);
      return skip('A previous check of this provider failed.');
    },
  };
}

interface Bad {
  kind: ProviderKind;
  message: string;
  remedy: string | undefined;
  isLimit: boolean | undefined;
}

function worse(context: CheckContext, { kind, message: words, remedy, isLimit }: Bad): Finding {
  if (isLimit && !context.production) return warn(words, remedy);
  return failIfNeeded(context, kind, words, remedy);
}
