// What is known against the programs that a provider's sandboxes depend on. A hole through which a guest gets out is a
// failure; any other is a warning. Distributions mend old versions without changing their numbers: what they say counts.

import type { Host } from '../../../host/host.ts';
import type { ProviderKind } from '../../../schema/provider.ts';
import { ADVISORIES_DATE, type Advisory, advisoriesFor } from '../advisories.ts';
import { type Check, type Observation, pass, skip, warn } from '../check.ts';
import type { Patient } from '../patient.ts';
import { failIfNeeded } from './provider.ts';

const VERSION_MS = 3000;

export interface HolesCheck {
  kind: ProviderKind;
  /** As they are called on this machine. */
  programs: readonly string[];
  /** Why there is nothing to look at; undefined when there is. */
  unless?: (patient: Patient) => string | undefined;
}

export function holesCheck({ kind, programs, unless }: HolesCheck): Check {
  return {
    name: 'advisories',
    title: 'Known holes',
    look: async (patient, signal) => {
      const reason = unless?.(patient);
      if (reason !== undefined) return skip(reason);
      const asked = await Promise.all(programs.map((name) => versionOf(patient.host, name, signal)));
      const found = asked.filter((each) => each !== undefined);
      return found.length === 0
        ? skip(`No version can be told of ${programs.join(', ')}.`)
        : judged(patient, kind, found);
    },
  };
}

interface Found {
  program: string;
  version: string;
  known: readonly Advisory[];
}

/** Undefined for a program that is not here or does not tell. */
async function versionOf(host: Host, program: string, signal: AbortSignal): Promise<Found | undefined> {
  const path = await host.which(program);
  if (path === undefined) return undefined;
  const { stdout } = await host.run(path, ['--version'], { timeoutMs: VERSION_MS, signal });
  const [version] = /\d+\.\d+\.\d+/.exec(stdout) ?? [];
  return version === undefined ? undefined : { program, version, known: advisoriesFor(program, version) };
}

function judged(patient: Patient, kind: ProviderKind, found: readonly Found[]): Observation {
  const bad = found.filter(({ known }) => known.length > 0);
  const named = found.map(({ program, version }) => `${program} ${version}`).join(', ');
  if (bad.length === 0) return pass(`Nothing was known against ${named} on ${ADVISORIES_DATE}.`);
  const words = bad.map(
    ({ program, version, known }) => `${program} ${version}: ${known.map(({ what }) => what).join(' ')}`,
  );
  const fix = `Update ${bad.map(({ program }) => program).join(', ')}.`;
  const isOpen = bad.some(({ known }) => known.some(({ letsOut }) => letsOut));
  return isOpen ? failIfNeeded(patient, kind, words.join(' '), fix) : warn(words.join(' '), fix);
}
