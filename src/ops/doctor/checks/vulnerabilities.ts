// What is known against the programs that a provider's sandboxes depend on. A hole through which a guest gets out is a
// failure; any other is a warning. Distributions fix old versions without changing their numbers: what they say counts.

import type { Host } from '../../../host/host.ts';
import type { ProviderKind } from '../../../schema/provider.ts';
import { ADVISORIES_DATE, type Advisory, advisoriesFor } from '../advisories.ts';
import { type Check, type CheckContext, type Finding, pass, skip, warn } from '../check.ts';
import { failIfNeeded } from './provider.ts';

const VERSION_MS = 3000;

export interface Asked {
  name: string;
  /** The program that tells the version of this library, as `name: version`. */
  by?: string;
}

export interface VulnerabilityCheck {
  kind: ProviderKind;
  /** As they are called on this machine. */
  programs: readonly string[];
  /** Programs that only some configurations use. */
  also?: (context: CheckContext) => readonly Asked[];
  /** Why there is nothing to look at; undefined when there is. */
  unless?: (context: CheckContext) => string | undefined;
}

export function vulnerabilityCheck({ kind, programs, also, unless }: VulnerabilityCheck): Check {
  return {
    name: 'advisories',
    title: 'Known vulnerabilities',
    look: async (context, signal) => {
      const reason = unless?.(context);
      if (reason !== undefined) return skip(reason);
      const asked = [...programs.map((name) => ({ name })), ...(also?.(context) ?? [])];
      const versions = await Promise.all(asked.map((each) => versionOf(context.host, each, signal)));
      const found = versions.filter((each) => each !== undefined);
      return found.length === 0
        ? skip(`The version of ${asked.map(({ name }) => name).join(', ')} is unknown.`)
        : judged(context, kind, found);
    },
  };
}

interface ProgramVersion {
  program: string;
  version: string;
  known: readonly Advisory[];
}

/** Undefined for a program that is not here or does not tell. */
async function versionOf(
  host: Host,
  { name: program, by }: Asked,
  signal: AbortSignal,
): Promise<ProgramVersion | undefined> {
  const path = await host.which(by ?? program);
  if (path === undefined) return undefined;
  const { stdout } = await host.run(path, ['--version'], { timeoutMs: VERSION_MS, signal });
  const told = by === undefined ? stdout : (stdout.split(`${program}: `)[1] ?? '');
  const [version] = /\d+\.\d+\.\d+/.exec(told) ?? [];
  return version === undefined ? undefined : { program, version, known: advisoriesFor(program, version) };
}

function judged(context: CheckContext, kind: ProviderKind, found: readonly ProgramVersion[]): Finding {
  const bad = found.filter(({ known }) => known.length > 0);
  const named = found.map(({ program, version }) => `${program} ${version}`).join(', ');
  if (bad.length === 0) return pass(`No known vulnerabilities in ${named} as of ${ADVISORIES_DATE}.`);
  const words = bad.map(
    ({ program, version, known }) => `${program} ${version}: ${known.map(({ what }) => what).join(' ')}`,
  );
  const remedy = `Update ${bad.map(({ program }) => program).join(', ')}.`;
  const isOpen = bad.some(({ known }) => known.some(({ letsOut }) => letsOut));
  return isOpen ? failIfNeeded(context, kind, words.join(' '), remedy) : warn(words.join(' '), remedy);
}
