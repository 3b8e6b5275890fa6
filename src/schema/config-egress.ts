// The section egress of the configuration.
import { type Static, Type } from 'typebox';
import { choice, duration, flag, integer, objects, secrets, section, strings } from './config-kinds.ts';
import { CREDENTIAL_NAME, CredentialFacts } from './credential.ts';

/** Package registries and what they send clients to. */
const PACKAGES = [
  'pypi.org,files.pythonhosted.org',
  'registry.npmjs.org,registry.yarnpkg.com',
  'deb.debian.org,security.debian.org',
  'archive.ubuntu.com,security.ubuntu.com,ports.ubuntu.com',
  'dl-cdn.alpinelinux.org',
  'index.crates.io,static.crates.io,crates.io',
  'proxy.golang.org,sum.golang.org',
  'rubygems.org,index.rubygems.org',
  'repo.maven.apache.org,repo1.maven.org',
].join(',');
const GITHUB = 'github.com,api.github.com,codeload.github.com,*.githubusercontent.com';

export const EgressConfig = section(
  'Outgoing connections of sandboxes by policy (docs/network.md). Rules are `<target>[:<port>]`: a name, *.name, an address, a CIDR block or @group.',
  {
    enabled: flag(true, 'Offer egress policies. Changes nothing for spawns that do not ask for one.'),
    allow: strings('What a policy of a sandbox may allow at most; empty means everything public.', {
      maxLength: 300,
    }),
    deny: strings('What no policy of a sandbox can allow.', { maxLength: 300 }),
    allow_private: strings(
      'CIDR blocks of private addresses that rules by address may allow, for example 10.20.0.0/24.',
      { maxLength: 64 },
    ),
    private_names: strings(
      'Names, *.name or @groups of names that rules by name may reach at private addresses, such as mirrors of packages. The name service of this network then decides where they lead.',
      { maxLength: 300 },
    ),
    allow_wide_rules: flag(false, 'Accept rules that cover a top-level domain, such as *.com.'),
    groups: Type.Record(
      Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
      Type.String({ minLength: 1, maxLength: 16_384 }),
      {
        additionalProperties: false,
        default: { packages: PACKAGES, github: GITHUB },
        description:
          'Groups of rules, separated by commas; policies name them as @packages or @github. Replaces the built-in groups.',
      },
    ),
    default_policy: section('The policy of spawns that name none.', {
      default: choice(
        ['none', 'deny', 'allow'],
        'none',
        'none: such spawns have no policy, and the network of their provider. deny, allow: they have a policy with this default.',
      ),
      allow: strings('Rules of that policy.', { maxLength: 300 }),
      deny: strings('Rules of that policy that win over allow.', { maxLength: 300 }),
    }),
    credentials: secrets(
      CREDENTIAL_NAME,
      'Values of credentials by name, which the server adds to requests of sandboxes (docs/network.md); a value may be {file: PATH}. Each has an entry in credential_terms.',
    ),
    credential_terms: objects(
      CREDENTIAL_NAME,
      CredentialFacts,
      'What each of credentials is for: hosts, owners and the other fields of a credential of the API.',
    ),
    resolver: strings(
      'Addresses of the name servers for sandboxes; empty means the resolver of the system with its hosts file.',
      { maxLength: 64 },
    ),
    proxy_port: integer(7424, 1, 65_535, 'Port of the proxy on the loopback of each sandbox.'),
    proxy_env: choice(
      ['auto', 'always', 'never'],
      'auto',
      'auto: commands of sandboxes without a transparent gate get https_proxy and similar variables unless the spawn sets them; always: those with one too; never: none do.',
    ),
    ca_days: integer(
      365,
      2,
      3650,
      'For how many days the authority holds under which the server ends TLS of sandboxes with credentials. Another one follows 30 days before its end.',
    ),
    connect_timeout: duration('10s', 'Timeout of a connection to a target.'),
    idle_timeout: duration('15m', 'How long a connection stays open on which nothing is sent.'),
    max_connections: integer(2048, 1, 1_000_000, 'Maximum number of connections of all sandboxes.'),
    new_connections_per_minute: integer(
      1200,
      1,
      1_000_000,
      'Maximum number of new connections of a sandbox.',
    ),
  },
);
export type EgressConfig = Static<typeof EgressConfig>;
