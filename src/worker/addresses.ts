// Determines where a worker listens and at which URL it can be called. Addresses that mean something else to the
// control plane, such as a wildcard or this machine's loopback, are rejected.
import { isIP } from 'node:net';
import { ServiceError } from '../domain/errors.ts';
import type { ListenAddress } from '../domain/listen-address.ts';
import { hostFault } from '../domain/outgoing-address.ts';

interface Advertised {
  /** The value of `worker.advertise_url`; empty derives the URL from the listen address. */
  advertise: string;
  listen: ListenAddress;
  isTls: boolean;
  /** True if `worker.allow_loopback_rpc` is set or the control plane is on this machine. */
  allowLoopback: boolean;
  /** True if the control plane's own URL is a loopback address. */
  isNear?: boolean;
}

/** Returns the URL to advertise for the listening port. Throws `bad_request` if the control plane could not use it. */
export function advertisedUrl({
  advertise,
  listen,
  isTls,
  allowLoopback,
  isNear = false,
}: Advertised): (port: number) => string {
  if (advertise === '') {
    const name = isNear && isEveryAddress(listen.host) ? '127.0.0.1' : listen.host;
    const host = isIP(name) === 6 ? `[${name}]` : name;
    requireReachable(name, allowLoopback);
    return (port) => `${isTls ? 'https' : 'http'}://${host}:${port}`;
  }
  const url = URL.canParse(advertise) ? new URL(advertise) : undefined;
  const isPlain = url && /^https?:$/.test(url.protocol) && !url.username && !url.password;
  if (!isPlain || url.search !== '' || url.hash !== '')
    throw new ServiceError('bad_request', 'The advertised address is not valid.', {
      remedy: 'Write it like https://worker-1.internal:7424.',
    });
  requireReachable(url.hostname.replace(/^\[|\]$/g, ''), allowLoopback);
  return () => `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function requireReachable(host: string, allowLoopback: boolean): void {
  const fault = ownFault(host, allowLoopback);
  if (fault === undefined) return;
  throw new ServiceError(
    'bad_request',
    `The control plane cannot call this worker at its address, which is ${fault}.`,
    {
      remedy:
        'Give --advertise the URL at which it can be reached (worker.advertise_url). On one machine, give --control-plane a loopback address, or set worker.allow_loopback_rpc on both.',
    },
  );
}

const isEveryAddress = (host: string) => ['', '*', '0.0.0.0', '::'].includes(host);

function ownFault(host: string, allowLoopback: boolean): string | undefined {
  return isEveryAddress(host) ? 'every address of this host' : hostFault(host, allowLoopback);
}
