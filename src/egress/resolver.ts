// Asks name servers for both families at once. It never uses the threads that serve files: a slow name server of a sandbox's
// choice could occupy them all.
import { promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { EgressResolver, EgressSettings } from './egress.ts';
import { EgressRefusal } from './refusal.ts';

const TRY_MS = 2500;
const TRIES = 2;
const HOSTS_FILE = '/etc/hosts';
const MAX_HOSTS_BYTES = 1024 * 1024;
const MAX_RUNNING = 256;
/** There is no such name, or it has no address of this family. */
const NONE = ['ENOTFOUND', 'ENODATA'];

type Answer = { addresses: string[]; ttlMs: number };

/** The hosts file and the servers of the machine, or the servers of the settings alone. */
export function serverResolver(
  settings: () => Pick<EgressSettings, 'resolver'>,
  hostsFile = HOSTS_FILE,
): EgressResolver {
  let running = 0;
  return {
    lookup: async (name, signal) => {
      if (running >= MAX_RUNNING) throw new EgressRefusal('rate');
      running += 1;
      try {
        const { resolver } = settings();
        const own = resolver === 'system' ? await addressesInHosts(hostsFile, name) : [];
        return own.length > 0 ? { addresses: own, ttlMs: 0 } : await ask(name, resolver, signal);
      } finally {
        running -= 1;
      }
    },
  };
}

/** A resolver of its own for each look-up: it reads the machine's servers as they are now, and can be cancelled alone. */
async function ask(name: string, servers: EgressSettings['resolver'], signal: AbortSignal): Promise<Answer> {
  const resolver = new dns.Resolver({ timeout: TRY_MS, tries: TRIES });
  if (servers !== 'system') resolver.setServers([...servers]);
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    // The last dot: the name is complete, no search list applies.
    const families = await Promise.allSettled([
      resolver.resolve4(`${name}.`, { ttl: true }),
      resolver.resolve6(`${name}.`, { ttl: true }),
    ]);
    return merged(families);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

type Family = PromiseSettledResult<readonly { address: string; ttl: number }[]>;

/** IPv4 first, then by turns: many hosts have no route for IPv6. */
function merged(families: readonly Family[]): Answer {
  const lists = families.map((each) => (each.status === 'fulfilled' ? each.value : []));
  const records = Array.from({ length: Math.max(...lists.map((list) => list.length)) }, (_, i) =>
    lists.flatMap((list) => list[i] ?? []),
  ).flat();
  const failure = families.find((each) => each.status === 'rejected' && !NONE.includes(each.reason?.code));
  if (records.length === 0 && failure?.status === 'rejected')
    throw new EgressRefusal(failure.reason?.code === 'ETIMEOUT' ? 'timeout' : 'unreachable');
  const ttl = records.length === 0 ? 0 : Math.min(...records.map((record) => record.ttl));
  return { addresses: records.map((record) => record.address), ttlMs: ttl * 1000 };
}

/** An unreadable or huge file has no entries. */
async function addressesInHosts(path: string, name: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.length > MAX_HOSTS_BYTES ? [] : hostsEntries(text, name);
}

/** Addresses of a name in a hosts file (hosts(5)). */
export function hostsEntries(text: string, name: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
    const isEntry = names.some((each) => each.toLowerCase().replace(/\.$/, '') === name);
    return isEntry && isIP(address) !== 0 ? [address] : [];
  });
}
