// Rules about backends that are reached by a URL, asked where they are enabled.
import { isIP } from 'node:net';
import { isLoopbackHost } from '../../../domain/loopback.ts';
import { addressFault } from '../../../domain/outgoing-address.ts';
import { faultIf, type LintRule } from '../rule.ts';

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).hostname : '');
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
    mend: 'Serve it over https, and set providers.custom.base_url to that.',
    example: 'providers:\n  custom:\n    base_url: https://sandboxes.internal\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { providers } }) =>
      faultIf(providers.custom.enabled && isPlain(providers.custom.base_url)),
  },
  {
    id: 'SVC802',
    topic: 'backends',
    key: 'providers.custom.api_key',
    title: 'The custom backend is given no key.',
    why: 'Then it lets in whoever reaches it: to run programs, and to read and end the sandboxes of this service.',
    mend: 'Make the backend ask for a key, and put that into a file that providers.custom.api_key_file names.',
    example: 'providers:\n  custom:\n    api_key_file: /etc/svc/custom-key\n',
    level: 'off',
    production: 'error',
    check: ({ config: { providers } }) =>
      faultIf(providers.custom.enabled && providers.custom.api_key === undefined),
  },
  {
    id: 'SVC803',
    topic: 'backends',
    key: 'providers.custom.base_url',
    title: 'The URL of the custom backend is never asked.',
    why: 'It names an address of this link, of a metadata service or of no single host; requests to such are refused.',
    mend: 'Set providers.custom.base_url to the backend itself.',
    example: 'providers:\n  custom:\n    base_url: https://sandboxes.internal\n',
    level: 'error',
    production: 'error',
    check: ({ config: { providers } }) =>
      faultIf(providers.custom.enabled && isRefused(providers.custom.base_url)),
  },
  {
    id: 'SVC804',
    topic: 'backends',
    key: 'providers.hosted.base_url',
    title: 'The hosted service is spoken to without TLS.',
    why: 'Whoever is on the way reads the key of the account and all that goes in and out of sandboxes.',
    mend: 'Use https in providers.hosted.base_url and providers.hosted.sandbox_url.',
    example: 'providers:\n  hosted:\n    base_url: https://api.example.com\n',
    level: 'warning',
    production: 'error',
    check: ({
      config: {
        providers: { hosted },
      },
    }) => faultIf(hosted.enabled && (isPlain(hosted.base_url) || isPlain(hosted.sandbox_url))),
  },
];
