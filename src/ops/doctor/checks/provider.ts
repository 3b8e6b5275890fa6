// Checks that show one finding of a provider's own probe. A provider that nobody relies on is warned of, not failed: both
// kinds are enabled by default, and few machines have both.
import type { Config } from '../../../schema/config.ts';
import type { ProviderKind } from '../../../schema/provider.ts';
import {
  type Check,
  type CheckContext,
  type CheckGroup,
  type Finding,
  fail,
  pass,
  skip,
  warn,
} from '../check.ts';

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

/** A group that is skipped where the provider is disabled. */
export const providerGroup = (kind: ProviderKind, checks: readonly Check[]): CheckGroup => ({
  id: kind,
  title: `Provider ${kind}`,
  unless: isDisabled(kind),
  checks,
});

interface FindingTerms {
  /** A missing limit does not prevent a start. */
  isLimit?: boolean;
  /** Never more than a warning. */
  isHint?: boolean;
}

/** Makes checks of findings by name. The remedy says what the provider's own words do not. */
export const findingsOf =
  (kind: ProviderKind) =>
  (name: string, title: string, remedy: string, { isLimit, isHint }: FindingTerms = {}): Check => ({
    name,
    title,
    deadlineMs: PROBE_DEADLINE_MS,
    look: async (context, signal) => {
      const { findings, message = 'The provider does not respond.' } = await context.probe(kind, signal);
      const finding = findings.find((each) => each.name === name);
      if (finding?.ok) return pass(finding.message);
      if (finding && (isHint || (isLimit && !context.production))) return warn(finding.message, remedy);
      if (finding) return failIfNeeded(context, kind, finding.message, remedy);
      if (findings.length === 0) return failIfNeeded(context, kind, message, remedy);
      return skip('A previous check of this provider failed.');
    },
  });
