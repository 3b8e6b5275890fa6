// Addresses of this host's interfaces: by them a sandbox would reach what listens on the host, also this server.
import { networkInterfaces } from 'node:os';
import { egressHost } from '../domain/egress/host.ts';
import type { Clock } from '../domain/ports.ts';

const KEPT_MS = 30_000;

/** Says of an address in its canonical spelling whether it is the host's. Reads the interfaces at most every 30 s. */
export function ownAddresses(
  clock: Pick<Clock, 'monotonic'>,
  read: () => readonly string[] = interfaceAddresses,
): (address: string) => boolean {
  let kept = new Set<string>();
  let until = -Infinity;
  return (address) => {
    if (clock.monotonic() >= until) {
      kept = new Set(read().flatMap((each) => canonical(each) ?? []));
      until = clock.monotonic() + KEPT_MS;
    }
    return kept.has(canonical(address) ?? address);
  };
}

/** An address literal in its one spelling; undefined for anything else. */
export function canonical(text: string): string | undefined {
  const host = egressHost(text);
  return host?.kind === 'address' ? host.address : undefined;
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
