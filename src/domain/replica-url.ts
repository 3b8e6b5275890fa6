// Where operators reach a server: its own address, which is not the one of a balancer.
import { isLoopbackHost } from './loopback.ts';

const ANY = ['0.0.0.0', '::', '[::]', ''];

/**
 * `advertised` as it is; otherwise the address that the server listens on, with the name of the host in place of an address
 * that has no meaning elsewhere. `bound`: the address as `http://host:port`, once the server listens.
 */
export function replicaUrl(
  { host, port, advertise_url: advertised }: { host: string; port: number; advertise_url: string },
  hostname: string | undefined,
  bound?: string,
): string {
  if (advertised !== '') return advertised;
  const url = new URL(bound ?? `http://${host.includes(':') ? `[${host}]` : host || '0.0.0.0'}:${port}`);
  const isOnlyHere = ANY.includes(url.hostname) || isLoopbackHost(url.hostname.replace(/^\[|\]$/g, ''));
  if (isOnlyHere && hostname) url.hostname = hostname;
  return url.origin;
}
