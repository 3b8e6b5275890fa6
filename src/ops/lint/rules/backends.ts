// Rules about backends and workers that are reached by a URL, asked where they are enabled.
import { isIP } from 'node:net';
import { isLoopbackHost } from '../../../domain/loopback.ts';
import { addressFault } from '../../../domain/outgoing-address.ts';
import type { Config } from '../../../schema/config.ts';
import { findingIf, rulesOf } from '../rule.ts';

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).hostname : '');
const isOpen = (address: string) => address !== '' && !isLoopbackHost(hostOf(`http://${address}`));
const isFar = (url: string) => url !== '' && !isLoopbackHost(hostOf(url));
const isPlain = (url: string) => /^http:/i.test(url) && !isLoopbackHost(hostOf(url));

function isRefused(url: string): boolean {
  const literal = hostOf(url).replace(/^\[|\]$/g, '');
  return isIP(literal) !== 0 && addressFault(literal, true) !== undefined;
}

/** `auto` is an address that others can reach where the server is on another machine. */
function listensOpenly({ listen_addr, control_plane_url }: Config['worker']): boolean {
  return listen_addr === 'auto' ? isFar(control_plane_url) : isOpen(listen_addr);
}

export const BACKEND_RULES = rulesOf('backends', [
  {
    id: 'SVC801',
    key: 'providers.custom.base_url',
    title: 'The connection to the custom backend does not use TLS.',
    why: 'An attacker on the network path can read the key and all data of sandboxes, and can respond instead of the backend.',
    remedy: 'Serve the backend over https, and set providers.custom.base_url to that URL.',
    example: 'providers:\n  custom:\n    base_url: https://sandboxes.internal\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.custom.enabled && isPlain(providers.custom.base_url)),
  },
  {
    id: 'SVC802',
    key: 'providers.custom.api_key',
    title: 'The custom backend does not require a key.',
    why: 'Everyone who can reach the backend can run programs on it, and can read and end the sandboxes of this service.',
    remedy:
      'Configure a key on the backend, write the key to a file, and set providers.custom.api_key_file to that file.',
    example: 'providers:\n  custom:\n    api_key_file: /etc/svc/custom-key\n',
    level: 'off',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.custom.enabled && providers.custom.api_key === undefined),
  },
  {
    id: 'SVC803',
    key: 'providers.custom.base_url',
    title: 'The service refuses to call the URL of the custom backend.',
    why: 'The URL contains a link-local address, the address of a metadata service, or an address that is not a single host. The service refuses requests to these addresses.',
    remedy: 'Set providers.custom.base_url to the URL of the backend.',
    example: 'providers:\n  custom:\n    base_url: https://sandboxes.internal\n',
    level: 'error',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.custom.enabled && isRefused(providers.custom.base_url)),
  },
  {
    id: 'SVC804',
    key: 'providers.hosted.base_url',
    title: 'The connection to the hosted service does not use TLS.',
    why: 'An attacker on the network path can read the key of the account and all data of sandboxes.',
    remedy: 'Use https in providers.hosted.base_url and providers.hosted.sandbox_url.',
    example: 'providers:\n  hosted:\n    base_url: https://api.example.com\n',
    level: 'warning',
    production: 'error',
    check: ({
      config: {
        providers: { hosted },
      },
    }) => findingIf(hosted.enabled && (isPlain(hosted.base_url) || isPlain(hosted.sandbox_url))),
  },
  {
    id: 'SVC805',
    key: 'worker.allow_loopback_rpc',
    title: 'A worker can redirect calls of this server to loopback addresses.',
    why: 'The heartbeat of a worker contains the URL at which the server calls it. A compromised worker can name any port of this machine, and the server then sends calls with a token to that port.',
    remedy: 'Set worker.allow_loopback_rpc to false, and let workers listen on a network address.',
    example: 'worker:\n  allow_loopback_rpc: false\n',
    level: 'off',
    production: 'error',
    check: ({ config: { worker } }) => findingIf(worker.allow_loopback_rpc),
  },
  {
    id: 'SVC806',
    key: 'worker.tls.cert_file',
    title: 'Calls to this worker do not use TLS.',
    why: 'An attacker on the network path can read the tokens and use them until they expire: to inspect sandboxes of the worker and to block calls to it.',
    remedy:
      'Set worker.tls.cert_file and worker.tls.key_file, or set worker.advertise_url to the https URL of a proxy that terminates TLS.',
    example:
      'worker:\n  listen_addr: 10.0.0.5:7424\n  tls:\n    cert_file: /etc/svc/worker.crt\n    key_file: /etc/svc/worker.key\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { worker } }) =>
      findingIf(
        worker.tls.cert_file === '' && listensOpenly(worker) && !/^https:/i.test(worker.advertise_url),
      ),
  },
  {
    id: 'SVC807',
    key: 'worker.control_plane_url',
    title: 'The heartbeats of this worker do not use TLS.',
    why: 'An attacker on the network path can answer instead of the server, and can read the tokens and use them until they expire: to change what the server knows of the worker, and to keep its leases from ending.',
    remedy:
      'Serve the control plane over https (docs/proxies.md), and set worker.control_plane_url to that URL.',
    example: 'worker:\n  control_plane_url: https://svc.internal:7423\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { worker } }) => findingIf(isPlain(worker.control_plane_url)),
  },
]);
