// The credentials of the configuration: what keeps one from being used, beyond what the loader refuses.
import { orAfter } from '../../../domain/timeout.ts';
import type { Config } from '../../../schema/config.ts';
import { type Check, pass, warn } from '../check.ts';
import { reach } from './egress-reach.ts';

const LOOKUP_MS = 3000;
const MOST_NAMES = 8;

export const CREDENTIALS: Check = {
  name: 'credentials',
  title: 'Credentials',
  look: async ({ config: { egress }, clock }) => {
    const names = Object.keys(egress.credential_terms);
    if (names.length === 0) return pass('The configuration has no credentials.');
    const unseen = orAfter(clock, LOOKUP_MS, unreachable(egress), () => []);
    const faults = [...names.flatMap((name) => faultsOf(egress, name)), ...(await unseen)];
    if (faults.length === 0) return pass(`The configuration has usable credentials: ${names.join(', ')}.`);
    return warn(
      faults.join(' '),
      'Change egress.credentials, egress.credential_terms or egress.private_names.',
    );
  },
};

function faultsOf({ credentials = {}, credential_terms }: Config['egress'], name: string): string[] {
  const value = credentials[name] ?? '';
  const isServing = (credential_terms[name]?.owners ?? []).length > 0;
  return [
    isServing ? [] : `${name} serves nobody: it has no owners.`,
    value === value.trim() ? [] : `The value of ${name} begins or ends with a space.`,
  ].flat();
}

/** The plain endpoint leads to the first host. */
async function unreachable(egress: Config['egress']): Promise<string[]> {
  if (egress.resolver.length > 0) return [];
  const hosts = Object.values(egress.credential_terms).map(({ hosts: [first = ''] }) => first.split(':')[0]);
  const names = [...new Set(hosts)].slice(0, MOST_NAMES);
  const found = await Promise.all(names.map((name) => reach(egress, String(name))));
  return found.flatMap(({ name, isRefused }) =>
    isRefused ? [`${name} leads to an address that policies refuse.`] : [],
  );
}
