// Addresses of this host: by them a sandbox would reach what listens on the host, also this server.
import { addressRanges, isAddressRange } from '../domain/address.ts';
import { egressHost } from '../domain/egress/host.ts';
import type { Clock } from '../domain/ports.ts';

const KEPT_MS = 30_000;

/** Says of an address in its canonical spelling whether it is the host's. Calls `read` at most every 30 s. */
export function ownAddresses(
  clock: Pick<Clock, 'monotonic'>,
  read: () => readonly string[],
): (address: string) => boolean {
  let isOwn: (address: string) => boolean = () => false;
  let until = -Infinity;
  return (address) => {
    if (clock.monotonic() >= until) {
      isOwn = addressRanges(read().filter(isAddressRange));
      until = clock.monotonic() + KEPT_MS;
    }
    return isOwn(canonical(address) ?? address);
  };
}

/** An address literal in its one spelling; undefined for anything else. */
export function canonical(text: string): string | undefined {
  const host = egressHost(text);
  return host?.kind === 'address' ? host.address : undefined;
}
