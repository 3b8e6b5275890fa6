// The credentials of the configuration: what keeps one from being used, beyond what the loader refuses.
import { orAfter } from '../../../domain/timeout.ts';
import type { Config } from '../../../schema/config.ts';
import { type Check, type CheckContext, pass, warn } from '../check.ts';
import { exposures } from '../private-file.ts';
import { reach } from './egress-reach.ts';

const LOOKUP_MS = 3000;
const MOST_NAMES = 8;

export const CREDENTIALS: Check = {
  name: 'credentials',
  title: 'Credentials',
  look: async (context) => {
    const { egress } = context.config;
    const names = Object.keys(egress.credential_terms);
    if (names.length === 0) return pass('The configuration has no credentials.');
    const unseen = orAfter(context.clock, LOOKUP_MS, unreachable(egress), () => []);
    const faults = [...names.flatMap((name) => faultsOf(egress, name)), ...(await unseen)];
    const exposed = await exposedFiles(context, names);
    if (faults.length + exposed.length === 0)
      return pass(`The configuration has usable credentials: ${names.join(', ')}.`);
    const remedies = [faults.length > 0 ? [CHANGE] : [], exposed.length > 0 ? [PROTECT] : []].flat();
    return warn([...faults, ...exposed].join(' '), remedies.join(' '));
  },
};

const CHANGE = 'Change egress.credentials, egress.credential_terms or egress.private_names.';
const PROTECT =
  'Give the file to the user of the service (chown), with mode 600, in a folder to which nobody else can write (chmod go-w).';

/** Files of credentials that others can read or replace, each once. */
async function exposedFiles(
  { host, loaded: { secretPaths } }: CheckContext,
  names: readonly string[],
): Promise<string[]> {
  const paths = names.flatMap((name) => secretPaths.get(`egress.credentials.${name}`) ?? []);
  const found = await Promise.all([...new Set(paths)].map((path) => exposures(host, path)));
  return [...new Set(found.flat())];
}

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
