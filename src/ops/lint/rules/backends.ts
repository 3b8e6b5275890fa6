// Rules about backends and workers that are reached by a URL, asked where they are enabled.
import { isIP } from 'node:net';
import { isLoopbackHost } from '../../../domain/loopback.ts';
import { addressFault } from '../../../domain/outgoing-address.ts';
import { findingIf, type LintRule } from '../rule.ts';

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).hostname : '');
const isOpen = (address: string) => address !== '' && !isLoopbackHost(hostOf(`http://${address}`));
const isPlain = (url: string) => /^http:/i.test(url) && !isLoopbackHost(hostOf(url));

function isRefused(url: string): boolean {
  const literal = hostOf(url).replace(/^\[|\]$/g, '');
  return isIP(literal) !== 0 && addressFault(literal, true) !== undefined;
}

export const BACKEND_RULES: readonly LintRule[] = [
  {
    id: 'SVC801',
    topic: 'backends',
    key: 'providers.custom.base_url',
    title: 'The custom backend is spoken to without TLS.',
    why: 'Whoever is on the way reads its key and all that goes in and out of sandboxes, and can answer in its place.',
    remedy: 'Serve it over https, and set providers.custom.base_url to that.',
    example: 'providers:\n  custom:\n    base_url: https://sandboxes.internal\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.custom.enabled && isPlain(providers.custom.base_url)),
  },
  {
    id: 'SVC802',
    topic: 'backends',
    key: 'providers.custom.api_key',
    title: 'The custom backend is given no key.',
    why: 'Then it lets in whoever reaches it: to run programs, and to read and end the sandboxes of this service.',
    remedy:
      'Make the backend ask for a key, and put that into a file that providers.custom.api_key_file names.',
    example: 'providers:\n  custom:\n    api_key_file: /etc/svc/custom-key\n',
    level: 'off',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.custom.enabled && providers.custom.api_key === undefined),
  },
  {
    id: 'SVC803',
    topic: 'backends',
    key: 'providers.custom.base_url',
    title: 'The URL of the custom backend is never asked.',
    why: 'It names an address of this link, of a metadata service or of no single host; requests to such are refused.',
    remedy: 'Set providers.custom.base_url to the backend itself.',
    example: 'providers:\n  custom:\n    base_url: https://sandboxes.internal\n',
    level: 'error',
    production: 'error',
    check: ({ config: { providers } }) =>
      findingIf(providers.custom.enabled && isRefused(providers.custom.base_url)),
  },
  {
    id: 'SVC804',
    topic: 'backends',
    key: 'providers.hosted.base_url',
    title: 'The hosted service is spoken to without TLS.',
    why: 'Whoever is on the way reads the key of the account and all that goes in and out of sandboxes.',
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
    topic: 'backends',
    key: 'worker.allow_loopback_rpc',
    title: 'A worker may send the calls of this server to loopback.',
    why: 'Where a worker is called is what its heartbeat says: one that is taken over can name any port of this machine, and calls that carry a token go there.',
    remedy: 'Set worker.allow_loopback_rpc to false, and let workers listen on an address of the network.',
    example: 'worker:\n  allow_loopback_rpc: false\n',
    level: 'off',
    production: 'error',
    check: ({ config: { worker } }) => findingIf(worker.allow_loopback_rpc),
  },
  {
    id: 'SVC806',
    topic: 'backends',
    key: 'worker.tls.cert_file',
    title: 'This worker is called without TLS.',
    why: 'Whoever is on the way reads its tokens and can use them while they hold: to look at its sandboxes, and to keep calls away from it.',
    remedy:
      'Set worker.tls.cert_file and worker.tls.key_file, or name a proxy that ends TLS by an https worker.advertise_url.',
    example:
      'worker:\n  listen_addr: 10.0.0.5:7424\n  tls:\n    cert_file: /etc/svc/worker.crt\n    key_file: /etc/svc/worker.key\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { worker } }) =>
      findingIf(
        worker.tls.cert_file === '' && isOpen(worker.listen_addr) && !/^https:/i.test(worker.advertise_url),
      ),
  },
];
