// Rules about who can reach the service: origins, proxies, addresses, previews, sizes of calls.
import { parseListen } from '../../../domain/listen-address.ts';
import { isLoopbackHost } from '../../../domain/loopback.ts';
import { entryFindings, findingIf, rulesOf } from '../rule.ts';

const MEBIBYTE = 1024 * 1024;
const LARGE_BODY = 16 * MEBIBYTE;

/** The prefix length of a CIDR block: below these it covers entire networks of strangers. */
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

export const SERVER_RULES = rulesOf('server', [
  {
    id: 'SVC201',
    key: 'server.cors_allowed_origins',
    title: 'Web pages of every origin can call the service.',
    why: 'Every page that a user of the service opens can call the service from that browser, with any key that the page can obtain.',
    remedy: 'Set server.cors_allowed_origins to the origins of your own pages.',
    example: 'server:\n  cors_allowed_origins: ["https://app.example.com"]\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) =>
      entryFindings(
        config.server.cors_allowed_origins,
        (origin) => origin.trim() === '*',
        () => 'Web pages of every origin can call the service.',
      ),
  },
  {
    id: 'SVC202',
    key: 'server.cors_allowed_origins',
    title: 'The list server.cors_allowed_origins is empty.',
    why: 'No web page can call the service. This is safe, but in production the list has often been forgotten, and is then opened to all origins in a hurry.',
    remedy: 'Add the origins of your own pages. If you have none, add the address of the service.',
    example: 'server:\n  cors_allowed_origins: ["https://svc.example.com"]\n',
    level: 'off',
    production: 'error',
    check: ({ config }) => findingIf(config.server.cors_allowed_origins.length === 0),
  },
  {
    id: 'SVC203',
    key: 'server.cors_allowed_origins',
    title: 'An origin uses plain http.',
    why: 'An attacker on the network path can change the page, and the changed page can call the service.',
    remedy: 'Serve the page over https, and list the https origin.',
    example: 'server:\n  cors_allowed_origins: ["https://app.example.com"]\n',
    level: 'warning',
    production: 'error',
    check: ({ config, production }) =>
      entryFindings(
        config.server.cors_allowed_origins,
        (origin) => isPlainHttp(origin, production),
        (origin) => `The origin ${origin} uses plain http.`,
      ),
  },
  {
    id: 'SVC204',
    key: 'server.allow_insecure',
    title: 'The service can listen on a public address without keys.',
    why: 'With server.allow_insecure, the service starts on a public address even without authentication. A change of auth.enabled then exposes it to everyone.',
    remedy: 'Set server.allow_insecure to false and auth.enabled to true.',
    example: 'server:\n  allow_insecure: false\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) => findingIf(config.server.allow_insecure),
  },
  {
    id: 'SVC205',
    key: 'server.trusted_proxies',
    title: 'Entire public networks are trusted as proxies.',
    why: 'A trusted proxy sets the address of the client. Everyone in such a network can choose the address that rate limits, bans and the audit use.',
    remedy: 'Set server.trusted_proxies to the addresses of your own proxies.',
    example: 'server:\n  trusted_proxies: ["10.0.4.7"]\n',
    level: 'warning',
    production: 'error',
    check: ({ config }) =>
      entryFindings(
        config.server.trusted_proxies,
        isWide,
        (range) => `${range} trusts entire public networks as proxies.`,
      ),
  },
  {
    id: 'SVC206',
    key: 'server.trusted_proxies',
    title: 'A remote proxy is trusted, but only this machine can connect.',
    why: 'The service listens on a loopback address, so its proxy runs on this machine. Another trusted address lets a client forge its own address.',
    remedy: 'Trust only 127.0.0.1 and ::1.',
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
    key: 'server.preview_access',
    title: 'Everyone who knows the name of a preview can open it.',
    why: 'The name of a preview appears in browser histories, Referer headers and DNS logs. Everyone who has it can see the preview until the sandbox ends.',
    remedy: 'Set server.preview_access to signed, and share links from the preview endpoint.',
    example: 'server:\n  preview_domain: sandboxes.example.com\n  preview_access: signed\n',
    level: 'off',
    production: 'error',
    check: ({ config: { server } }) =>
      findingIf(server.preview_domain !== '' && server.preview_access === 'public'),
  },
  {
    id: 'SVC208',
    key: 'server.host',
    title: 'The port is public and has no proxy in front.',
    why: 'The service uses plain HTTP. An attacker on the network path can read the keys and all data of sandboxes.',
    remedy:
      'Listen on 127.0.0.1 behind a proxy that terminates TLS, or add the proxy to server.trusted_proxies.',
    example: 'server:\n  host: 127.0.0.1\n',
    level: 'off',
    production: 'warning',
    check: ({ config: { server } }) =>
      findingIf(!isLoopbackHost(server.host) && server.trusted_proxies.length === 0),
  },
  {
    id: 'SVC209',
    key: 'server.body_limit',
    title: 'The limit for JSON bodies is very high.',
    why: 'Each call can use that much memory, and many times more while the body is parsed. Files have a separate limit.',
    remedy: 'Set server.body_limit to 16 MiB (16777216) or less.',
    example: 'server:\n  body_limit: 1048576\n',
    level: 'off',
    production: 'warning',
    check: ({ config }) => findingIf(config.server.body_limit > LARGE_BODY),
  },
  {
    id: 'SVC210',
    key: 'e2b.cert_file',
    title: 'Other machines reach e2b.listen, whose certificate only this machine can trust.',
    why: 'Without e2b.cert_file the certificate is signed by an authority that exists in the state folder of this server. Programs elsewhere would have to turn off the check of certificates, and anybody between could then read keys.',
    remedy:
      'Set e2b.cert_file and e2b.key_file to a certificate for server.preview_domain and all names below it, or listen on 127.0.0.1.',
    example: 'e2b:\n  listen: 127.0.0.1:7443\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { e2b } }) =>
      findingIf(e2b.listen !== '' && e2b.cert_file === '' && !isLoopbackHost(parseListen(e2b.listen).host)),
  },
]);
