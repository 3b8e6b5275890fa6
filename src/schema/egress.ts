// Egress policies: where a sandbox may connect (docs/network.md).
import { type Static, Type } from 'typebox';
import { PolicyCredentials } from './credential.ts';
import { DESCRIBED, described } from './described.ts';
import { ByteRate, EgressRule, EgressTarget } from './text-rules.ts';

/** The layers of a policy, in the order in which they narrow. */
export const EGRESS_LAYERS = ['server', 'owner', 'template', 'spawn'] as const;
export type EgressLayerName = (typeof EGRESS_LAYERS)[number];

const [MOST_RULES, MOST_CONNECTIONS] = [256, 192];
/** The most that a transparent gate opens (agent/PROTOCOL.md). */
export const MOST_PORTS = 64;

const port = () => Type.Integer({ minimum: 1, maximum: 65_535 });

const rules = (description: string) =>
  Type.Optional(
    Type.Array(described(Type.String({ minLength: 1, maxLength: 300 }), EgressRule), {
      maxItems: MOST_RULES,
      description,
    }),
  );

/** What a policy and the ceiling of an owner share. */
const limits = {
  default: Type.Optional(
    Type.Enum(['deny', 'allow'], {
      description: 'What holds for public targets that no rule names; deny if omitted.',
    }),
  ),
  allow: rules(
    'Targets that may be reached: a name, *.name, an address, a CIDR block or @group, with :port, :from-to or :*; ports 80 and 443 if omitted.',
  ),
  deny: rules('Targets that may not be reached, on every port unless the rule names one. Wins over allow.'),
  max_connections: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MOST_CONNECTIONS,
      description: 'Connections at once; further ones wait 10 s and are then refused. 64 if omitted.',
    }),
  ),
  rate: Type.Optional(
    described(
      Type.String({ maxLength: 32, description: 'Bytes a second in each direction; unlimited if omitted.' }),
      ByteRate,
    ),
  ),
  max_bytes: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Bytes in both directions together; 0 means unlimited.',
    }),
  ),
};

/** How the programs of a sandbox connect. */
export const EGRESS_WAYS = ['gate', 'proxy'] as const;
export type EgressWay = (typeof EGRESS_WAYS)[number];
export const EGRESS_MODES = ['auto', ...EGRESS_WAYS] as const;

export const EgressPolicy = Type.Object(
  {
    ...limits,
    mode: Type.Optional(
      Type.Enum([...EGRESS_MODES], {
        description:
          'How programs connect. gate: as if they had a network, through a transparent gate; 501 where none can be made. proxy: through the proxy on the loopback of the sandbox, as variables such as https_proxy say. auto, the default: gate where one can be made, else proxy.',
      }),
    ),
    ports: Type.Optional(
      Type.Array(port(), {
        maxItems: MOST_PORTS,
        description:
          'Ports that a transparent gate opens beside those that rules in allow name; 80 and 443 if omitted. Rules decide about each connection.',
      }),
    ),
    credentials: PolicyCredentials,
    log: Type.Optional(
      Type.Enum(['denied', 'all', 'none'], {
        description: 'Which decisions become events; denied if omitted. The decision log has all.',
      }),
    ),
  },
  { $id: 'EgressPolicy', additionalProperties: false },
);
export type EgressPolicy = Static<typeof EgressPolicy>;

/** What the description excludes: a policy for a sandbox without a network. */
export const POLICY_WITHOUT_NETWORK = {
  required: ['egress', 'network'],
  properties: { network: { const: 'none' } },
};

/** What policies of the sandboxes of one owner can allow at most. */
export const EgressCeiling = Type.Object(limits, { $id: 'EgressCeiling', additionalProperties: false });
export type EgressCeiling = Static<typeof EgressCeiling>;

/** The stored policy of a sandbox: the layers that belong to it. `trust`: it was spawned with credentials. */
export interface SandboxEgress {
  mode: EgressWay;
  template?: EgressPolicy;
  spawn?: EgressPolicy;
  trust?: true;
}

/** As the sandbox object shows it. */
export const EgressSummary = Type.Object(
  {
    mode: Type.Enum([...EGRESS_WAYS], { description: 'How programs connect.' }),
    default: Type.Enum(['deny', 'allow'], {
      description: 'What holds for public targets that no rule names.',
    }),
    allow_count: Type.Integer({ description: 'Rules in allow of the template and the spawn.' }),
    deny_count: Type.Integer({ description: 'Rules in deny of the template and the spawn.' }),
    credentials: Type.Optional(
      Type.Array(Type.String(), { description: 'Names of its credentials; absent if it has none.' }),
    ),
  },
  {
    $id: 'EgressSummary',
    additionalProperties: false,
    description: 'Its egress policy; absent if it has none.',
  },
);
export type EgressSummary = Static<typeof EgressSummary>;

/** Why a connection was allowed, refused or ended: one table for answers, the decision log and metrics. */
export const EGRESS_REASONS = [
  'rule_allow',
  'default_allow',
  'rule_deny',
  'not_allowed',
  'port_not_allowed',
  'address_private',
  'address_loopback',
  'address_link_local',
  'address_metadata',
  'address_own_host',
  'address_not_one_host',
  'address_denied',
  'name_not_found',
  'name_invalid',
  'sni_mismatch',
  'host_mismatch',
  'method_denied',
  'rate',
  'bytes',
  'connections',
  'unreachable',
  'timeout',
  'tls_failed',
  'policy_changed',
] as const;
export type EgressReason = (typeof EGRESS_REASONS)[number];

const host = described(
  Type.String({ minLength: 1, maxLength: 256, description: 'A name or an address.' }),
  EgressTarget,
);

export const EgressCheckRequest = Type.Object(
  {
    sandbox_id: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: 'A running sandbox whose policy applies.' }),
    ),
    egress: Type.Optional(EgressPolicy),
    host,
    port: port(),
  },
  {
    $id: 'EgressCheckRequest',
    additionalProperties: false,
    description: 'Exactly one of sandbox_id and egress.',
    [DESCRIBED]: { oneOf: [{ required: ['sandbox_id'] }, { required: ['egress'] }] },
  },
);
export type EgressCheckRequest = Static<typeof EgressCheckRequest>;

export const EgressCheck = Type.Object(
  {
    decision: Type.Enum(['allowed', 'denied'], { description: 'What a connection would get now.' }),
    reason: Type.Enum([...EGRESS_REASONS]),
    host: Type.String({ description: 'The host in its canonical spelling.' }),
    port: port(),
    rule: Type.Optional(Type.String({ description: 'The rule that decided.' })),
    layer: Type.Optional(Type.Enum([...EGRESS_LAYERS], { description: 'The layer that decided.' })),
    addresses: Type.Optional(
      Type.Array(Type.String(), {
        description: 'The addresses that a connection would try. Refused names are never looked up.',
      }),
    ),
  },
  { $id: 'EgressCheck', additionalProperties: false },
);
export type EgressCheck = Static<typeof EgressCheck>;

export const EgressGroup = Type.Object(
  {
    name: Type.String({ description: 'As policies write it, with @.' }),
    rules: Type.Array(Type.String()),
  },
  { $id: 'EgressGroup', additionalProperties: false },
);
export type EgressGroup = Static<typeof EgressGroup>;

const count = Type.Integer({ minimum: 0 });
const layer = Type.Enum([...EGRESS_LAYERS]);
const texts = Type.Array(Type.String());

export const EgressStatus = Type.Object(
  {
    mode: Type.Enum([...EGRESS_WAYS]),
    ports: Type.Optional(Type.Array(port(), { description: 'Ports that the transparent gate opens.' })),
    layers: Type.Array(
      Type.Object(
        { name: layer, default: Type.Enum(['deny', 'allow']), allow: texts, deny: texts },
        { additionalProperties: false },
      ),
      {
        description:
          'Every layer must allow a target, and each can refuse it. Groups are shown as their rules.',
      },
    ),
    max_connections: Type.Integer({ description: 'Connections at once.' }),
    bytes_per_second: Type.Integer({ description: 'In each direction; 0 means unlimited.' }),
    max_bytes: Type.Integer({ description: 'In both directions together; 0 means unlimited.' }),
    log: Type.Enum(['denied', 'all', 'none'], { description: 'Which decisions become events.' }),
    is_open: Type.Boolean({ description: 'Whether programs can connect now.' }),
    credentials: Type.Optional(
      Type.Array(Type.String(), { description: 'Names of credentials that requests get now.' }),
    ),
    counters: Type.Object(
      {
        allowed: count,
        denied: count,
        failed: count,
        open: Type.Integer({ minimum: 0, description: 'Connections now.' }),
        sent_bytes: count,
        received_bytes: count,
      },
      { additionalProperties: false, description: 'Since this server started or the sandbox was spawned.' },
    ),
    warnings: texts,
  },
  { $id: 'EgressStatus', additionalProperties: false },
);
export type EgressStatus = Static<typeof EgressStatus>;

export const EGRESS_DECISIONS = ['allowed', 'denied', 'failed'] as const;

export const EgressLogLine = Type.Object(
  {
    at: Type.String({ format: 'date-time' }),
    sandbox_id: Type.String(),
    decision: Type.Enum([...EGRESS_DECISIONS]),
    reason: Type.Enum([...EGRESS_REASONS]),
    rule: Type.Optional(Type.String({ description: 'The rule that decided.' })),
    layer: Type.Optional(layer),
    host: Type.String(),
    port: Type.Integer(),
    address: Type.Optional(Type.String({ description: 'The address that was connected to or refused.' })),
    how: Type.Enum(['gate', 'connect', 'http', 'socks', 'endpoint'], {
      description:
        'Through the transparent gate, or how the program used the proxy; endpoint: by the name of a credential.',
    }),
    uid: Type.Optional(Type.Integer({ description: 'User of the program in the sandbox.' })),
    credential: Type.Optional(Type.String({ description: 'The credential that the request got.' })),
    method: Type.Optional(
      Type.String({ description: 'Of a request that the server reads; as path and status.' }),
    ),
    path: Type.Optional(Type.String({ description: 'Without its query.' })),
    status: Type.Optional(Type.Integer()),
    sent_bytes: count,
    received_bytes: count,
    duration_ms: Type.Number({ minimum: 0 }),
  },
  { $id: 'EgressLogLine', additionalProperties: false },
);
export type EgressLogLine = Static<typeof EgressLogLine>;

export const EgressLogQuery = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: 'The newest so many; 100 if omitted.' }),
    ),
    decision: Type.Optional(Type.Enum([...EGRESS_DECISIONS])),
    follow: Type.Optional(Type.Boolean({ description: 'Also send new decisions, one JSON object a line.' })),
  },
  { additionalProperties: false },
);
export type EgressLogQuery = Static<typeof EgressLogQuery>;

const suggested = 'Rules for what the decision log shows, except what a deny rule or the address forbids.';
export const EgressSuggestion = Type.Object(
  { allow: Type.Array(Type.String(), { description: suggested }) },
  { $id: 'EgressSuggestion', additionalProperties: false },
);
export type EgressSuggestion = Static<typeof EgressSuggestion>;
