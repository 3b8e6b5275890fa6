// The user-mode network of sandboxes: what connects for them, and what they do not reach by it (docs/network.md#a-full-network).
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { ServiceError } from '../../domain/errors.ts';
import { isNameServer, NOT_PUBLIC_RANGES } from '../../domain/outgoing-address.ts';
import { localAddresses } from '../../host/local-addresses.ts';
import type { Setting } from '../local/settings.ts';
import type { UserspaceState } from './state.ts';

const PROGRAM = 'slirp4netns';
const NOT_INSTALLED = `providers.userspace.network is user, and ${PROGRAM} is not installed.`;
/** glibc reads no more of resolv.conf(5). */
const MOST_SERVERS = 3;
/** The second where the first names a resolver on the loopback of this machine. */
const RESOLVER_FILES = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];

export const NO_SERVERS =
  'Names do not resolve: no name server of this machine can be reached from a network namespace. Set providers.userspace.name_servers.';

export interface UserNetwork {
  /** Path of the program. */
  program: string;
  servers: string[];
}

/** Throws `provider_error` where the program is not installed. */
export async function findUserNetwork({
  host,
  config,
}: Pick<UserspaceState, 'host' | 'config'>): Promise<UserNetwork> {
  const program = await host.which(PROGRAM);
  if (program === undefined)
    throw new ServiceError('provider_error', NOT_INSTALLED, {
      remedy: `Install the package ${PROGRAM}, or set providers.userspace.network to none.`,
    });
  const own = ownAddresses();
  const servers = config.name_servers.length > 0 ? config.name_servers : await serversOf(RESOLVER_FILES, own);
  return { program, servers };
}

/** For the launcher. */
export function networkSettings({ program, servers }: UserNetwork): Setting[] {
  return [
    ['network', program],
    ...servers.map((address): Setting => ['network_reach', address]),
    ...[...NOT_PUBLIC_RANGES, ...ownAddresses()].map((range): Setting => ['network_block', range]),
  ];
}

export const resolverText = ({ servers }: UserNetwork): string =>
  servers.map((address) => `nameserver ${address}\n`).join('');

/** Those of the first file that names some which are on another host. */
async function serversOf(paths: readonly string[], own: readonly string[]): Promise<string[]> {
  for (const path of paths) {
    const text = await readFile(path, 'utf8').catch(() => '');
    const named = [...text.matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map(([, address]) => String(address));
    const usable = named.filter((address) => isNameServer(address) && !own.includes(address));
    if (usable.length > 0) return usable.slice(0, MOST_SERVERS);
  }
  return [];
}

const ownAddresses = () => localAddresses().filter((each) => isIP(each.split('/', 1)[0] ?? '') === 4);
