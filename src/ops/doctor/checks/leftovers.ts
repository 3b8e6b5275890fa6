// Runtimes of this service that no record knows. Reconcile ends them while the service runs; what is seen here was left
// by a service that is not, or cannot.
import type { Provider } from '../../../providers/provider.ts';
import type { ProviderKind } from '../../../schema/provider.ts';
import type { KnownRuntimes } from '../../../store/offline-records.ts';
import { type Check, type CheckContext, type CheckGroup, type Finding, pass, skip, warn } from '../check.ts';

const DEADLINE_MS = 20_000;
const MOST_SHOWN = 5;

const TITLES: Record<ProviderKind, string> = {
  container: 'Containers',
  userspace: 'Userspace sandboxes',
  microvm: 'Virtual machines',
  hosted: 'Runtimes of the hosted backend',
  custom: 'Runtimes of the custom backend',
};

export const LEFTOVERS: CheckGroup = {
  id: 'leftovers',
  title: 'Leftover runtimes',
  checks: [
    leftoverCheck('container'),
    leftoverCheck('userspace'),
    leftoverCheck('microvm'),
    leftoverCheck('hosted'),
    leftoverCheck('custom'),
  ],
};

function leftoverCheck(kind: ProviderKind): Check {
  return {
    name: kind,
    title: TITLES[kind],
    deadlineMs: DEADLINE_MS,
    look: async (context, signal) => {
      const { config, knownRuntimes } = context;
      if (!config.providers[kind].enabled) return skip(`providers.${kind}.enabled is false.`);
      const known = await knownRuntimes(config.database);
      if (!known) return skip('The database does not exist yet.');
      return withServiceProvider(context, { kind, known }, (provider) =>
        compare(context, { provider, signal }),
      );
    },
  };
}

interface Whose {
  kind: ProviderKind;
  known: KnownRuntimes;
}

/** Under the instance of the service itself: its runtimes are looked for. */
async function withServiceProvider(
  { config, openProviders }: CheckContext,
  { kind, known }: Whose,
  use: (provider: Provider) => Promise<Finding>,
): Promise<Finding> {
  const providers = await openProviders(config, known.instance);
  try {
    return await use(providers.get(kind));
  } finally {
    await providers.close();
  }
}

/** Runtimes first: a record is written before its runtime is made. */
async function compare(
  { config, knownRuntimes }: CheckContext,
  { provider, signal }: { provider: Provider; signal: AbortSignal },
): Promise<Finding> {
  const runtimes = await provider.list(signal).catch(() => undefined);
  if (!runtimes) return skip('The provider could not list its runtimes.');
  const known = await knownRuntimes(config.database);
  const strays = runtimes.filter(({ id, epoch }) => !known?.names.has(`${id}.${epoch}`));
  if (strays.length === 0) return pass(`Every runtime has a record (${runtimes.length}).`);
  const shown = strays.slice(0, MOST_SHOWN).map(({ id }) => id);
  const more = strays.length > MOST_SHOWN ? ' and more' : '';
  return warn(
    `${strays.length} of ${runtimes.length} runtimes have no record: ${shown.join(', ')}${more}.`,
    'Start the service. It ends these runtimes within a minute.',
  );
}
