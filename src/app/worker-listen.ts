// Where a worker finds its server and where it listens, when nothing says it.
import { ServiceError } from '../domain/errors.ts';
import { type ListenAddress, parseListen } from '../domain/listen-address.ts';
import { isLoopbackHost } from '../domain/loopback.ts';
import { namesLoopback } from '../domain/outgoing-address.ts';
import type { Clock } from '../domain/ports.ts';
import { withTimeout } from '../domain/timeout.ts';
import { routeAddress } from '../host/route-address.ts';
import type { Config } from '../schema/config.ts';

/** The value of `worker.listen_addr` that leaves the choice to the worker. */
const AUTO = 'auto';
const DEFAULT_PORT = 7424;
const LOOK_UP_MS = 10_000;

/**
 * Returns the URL of the control plane without `/api/v1`: by default the server that this configuration describes, if it
 * listens on loopback. Throws `bad_request`.
 */
export function controlPlaneUrl({ worker, server }: Pick<Config, 'worker' | 'server'>): string {
  const isHere = isLoopbackHost(server.host) && server.port !== 0;
  const host = server.host === '::1' ? '[::1]' : server.host;
  const text =
    worker.control_plane_url === '' && isHere ? `http://${host}:${server.port}` : worker.control_plane_url;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && url.search === '' && url.hash === '')
    // Also accepts the base URL of the API.
    return text.replace(/\/api\/v1\/?$/, '');
  const what =
    text === '' ? 'The URL of the control plane is missing.' : 'The URL of the control plane is not valid.';
  throw new ServiceError('bad_request', what, {
    remedy:
      'Set --control-plane to its URL, for example https://svc.internal:7423 (worker.control_plane_url).',
  });
}

/**
 * Returns where the worker accepts calls; undefined if it accepts none. By default that is a free port of loopback for a
 * server on this machine, otherwise port 7424 of the address from which this host reaches the server. Throws
 * `bad_request`, and `unavailable` when no route leads to the server.
 */
export async function listenAddress(
  { listen_addr }: Pick<Config['worker'], 'listen_addr'>,
  controlPlane: string,
  clock: Clock,
): Promise<ListenAddress | undefined> {
  if (listen_addr === '') return undefined;
  if (listen_addr !== AUTO) return parseListen(listen_addr);
  const url = new URL(controlPlane);
  if (namesLoopback(url)) return { host: '127.0.0.1', port: 0 };
  const error = () => new Error('the look-up took too long');
  const work = () => routeAddress(url.hostname);
  const host = await withTimeout({ clock, ms: LOOK_UP_MS, error }, work).catch((cause: unknown) => {
    throw new ServiceError('unavailable', 'No route leads from this host to the control plane.', {
      cause,
      remedy: 'Check --control-plane, or set --listen to an address of this host, for example 10.0.0.5:7424.',
    });
  });
  return { host, port: DEFAULT_PORT };
}

/** Whether the worker chooses where it listens. */
export const isDefaultListen = ({ worker }: Config): boolean => worker.listen_addr === AUTO;

/** For a single heartbeat, which starts nothing: an address counts only if the configuration says it. */
export function withoutDefaultListen(config: Config): Config {
  return isDefaultListen(config) ? { ...config, worker: { ...config.worker, listen_addr: '' } } : config;
}
