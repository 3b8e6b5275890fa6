// Rules about who can reach the service: origins, proxies, addresses, previews, sizes of calls.
import { isLoopbackHost } from '../../../domain/loopback.ts';
import { entryFindings, findingIf, type LintRule } from '../rule.ts';

const MEBIBYTE = 1024 * 1024;
const LARGE_BODY = 16 * MEBIBYTE;

/** Of a CIDR block: below these it holds whole networks of strangers. */
const WIDEST = { ipv4: 8, ipv6: 16 };

function isWide(range: string): boolean {
  const bits = range.split('/')[1];
  return bits !== undefined && Number(bits) < (range.includes(':') ? WIDEST.ipv6 : WIDEST.ipv4);
}

const isLoopbackRange = (range: string) => /^(?:127\.|::1(?:\/128)?$)/.test(range);

function isPlainHttp(origin: string, production: boolean): boolean {
  if (!/^http:/i.test(origin)) return false;
  return production || !isLoopbackHost(hostOf(origin));
}

const hostOf = (origin: string) => (URL.canParse(origin) ? new URL(origin).hostname : '');

export const SERVER_RULES: readonly LintRule[] = [
  {
    id: 'SVC201',
    topic: 'server',
    key: 'server.cors_allowed_origins',
    title: 'Web pages of every origin may call the service.',
    why: 'Any page that a user of the service opens can then call it from that browser, with whatever key the page can get hold of.',
    remedy: 'List the origins of your own pages.',
    example: 'server:\n  cors_allowed_origins: ["https://app.example.com"]\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) =>
      entryFindings(
        config.server.cors_allowed_origins,
        (origin) => origin.trim() === '*',
        () => 'Web pages of every origin may call the service.',
      ),
  },
  {
    id: 'SVC202',
    topic: 'server',
    key: 'server.cors_allowed_origins',
    title: 'No origin is listed.',
    why: 'No web page can call the service then. That is safe, but in production it is mostly a list that somebody forgot, and the first to notice opens it to all in a hurry.',
    remedy: 'List the origins of your own pages; where there are none, the address of the service itself.',
    example: 'server:\n  cors_allowed_origins: ["https://svc.example.com"]\n',
    level: 'off',
    production: 'error',
    check: ({ config }) => findingIf(config.server.cors_allowed_origins.length === 0),
  },
  {
    id: 'SVC203',
    topic: 'server',
    key: 'server.cors_allowed_origins',
    title: 'An origin is plain http.',
    why: 'Whoever is on the way to that page can change it, and the changed page may call the service.',
    remedy: 'Serve the page over https and list that origin.',
    example: 'server:\n  cors_allowed_origins: ["https://app.example.com"]\n',
    level: 'warning',
    production: 'error',
    check: ({ config, production }) =>
      entryFindings(
        config.server.cors_allowed_origins,
        (origin) => isPlainHttp(origin, production),
        (origin) => `The origin ${origin} is plain http.`,
      ),
  },
  {
    id: 'SVC204',
    topic: 'server',
    key: 'server.allow_insecure',
    title: 'An open address without keys is allowed.',
    why: 'With this key the service starts on an address that others reach, although nobody has to show a key. One change of auth.enabled and nothing stops it.',
    remedy: 'Set server.allow_insecure to false, and auth.enabled to true.',
    example: 'server:\n  allow_insecure: false\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) => findingIf(config.server.allow_insecure),
  },
  {
    id: 'SVC205',
    topic: 'server',
    key: 'server.trusted_proxies',
    title: 'Whole networks of strangers are trusted as proxies.',
    why: 'A trusted proxy says who the client is. Whoever is inside such a block chooses the address that limits, bans and the audit see.',
    remedy: 'List the addresses of your own proxies.',
    example: 'server:\n  trusted_proxies: ["10.0.4.7"]\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) =>
      entryFindings(
        config.server.trusted_proxies,
        isWide,
        (range) => `${range} trusts whole networks of strangers as proxies.`,
      ),
  },
  {
    id: 'SVC206',
    topic: 'server',
    key: 'server.trusted_proxies',
    title: 'A proxy elsewhere is trusted, but only this machine can connect.',
    why: 'The service listens on loopback, so its proxy is on this machine. What else is trusted lets a client put an address of its choice in front of its own.',
    remedy: 'Trust 127.0.0.1 and ::1 alone.',
    example: 'server:\n  host: 127.0.0.1\n  trusted_proxies: ["127.0.0.1"]\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { server } }) =>
      isLoopbackHost(server.host)
        ? entryFindings(
            server.trusted_proxies,
            (range) => !isLoopbackRange(range) && !isWide(range),
            (range) => `${range} is trusted as a proxy, but only this machine can connect.`,
          )
        : [],
  },
  {
    id: 'SVC207',
    topic: 'server',
    key: 'server.preview_access',
    title: 'Previews are open to all who know their name.',
    why: 'The name of a preview is in histories, referrers and logs of resolvers. Who has it sees what the sandbox serves until that ends.',
    remedy: 'Set server.preview_access to signed, and hand out links from the preview endpoint.',
    example: 'server:\n  preview_domain: sandboxes.example.com\n  preview_access: signed\n',
    level: 'off',
    production: 'error',
    check: ({ config: { server } }) =>
      findingIf(server.preview_domain !== '' && server.preview_access === 'public'),
  },
  {
    id: 'SVC208',
    topic: 'server',
    key: 'server.host',
    title: 'The port is open to others, and no proxy stands before it.',
    why: 'The service speaks plain HTTP: keys and all that sandboxes say travel readable for whoever is on the way.',
    remedy:
      'Listen on 127.0.0.1 behind a proxy that speaks TLS, or list the proxy in server.trusted_proxies.',
    example: 'server:\n  host: 127.0.0.1\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { server } }) =>
      findingIf(!isLoopbackHost(server.host) && server.trusted_proxies.length === 0),
  },
  {
    id: 'SVC209',
    topic: 'server',
    key: 'server.body_limit',
    title: 'A JSON body may be very large.',
    why: 'Each call may hold that much memory, many times over while it is parsed. Files have a limit of their own and do not need this one.',
    remedy: 'Set server.body_limit to 16 MiB (16777216) or less.',
    example: 'server:\n  body_limit: 1048576\n',
    level: 'off',
    production: 'warning',
    check: ({ config }) => findingIf(config.server.body_limit > LARGE_BODY),
  },
];
