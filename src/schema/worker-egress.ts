// What a control plane and a worker say to each other about the outgoing connections of one sandbox: JSON lines on a link of
// its own (docs/design/worker-sessions.md#egress). Unlike elsewhere between the two, unknown fields of an order are refused: a
// restriction that a worker does not know must not be ignored.
import { type Static, type TSchema, Type } from 'typebox';
import {
  EGRESS_DECISIONS,
  EGRESS_LAYERS,
  EGRESS_REASONS,
  EGRESS_WAYS,
  EgressCeiling,
  EgressCheck,
  EgressLogLine,
  EgressPolicy,
} from './egress.ts';
import { ERROR_CODES } from './error.ts';

/** The name of the protocol, which the upgrade of a link asks for. */
export const EGRESS_PROTOCOL = 'svc-egress';
/** The longest line, without its end: all layers with as many rules as they may have. */
export const EGRESS_LINE_BYTES = 2 * 1024 * 1024;
export const EGRESS_STRUCTURE = { depth: 12, tokens: 40_000 };
/** How often each side shows at least that it is there, in ms: the worker by a report, the control plane by a beat. */
export const EGRESS_REPORT_MS = 10_000;
/** A side that shows nothing for so long is frozen, or cut off. In ms. */
export const EGRESS_SILENT_MS = 3 * EGRESS_REPORT_MS;

const texts = (maxItems: number) => Type.Array(Type.String({ maxLength: 16_384 }), { maxItems });
const closed = { additionalProperties: false };
/** Used more than once, so without its name. */
const nameless = <T extends TSchema>(schema: T): T => {
  const { $id: _, ...rest } = schema as T & { $id?: string };
  return rest as unknown as T;
};

const { credentials: _, ...rules } = EgressPolicy.properties;
/** Its credentials travel apart, opened. */
const Rules = Type.Object(rules, closed);

/** A credential that is ready to be sent (domain/egress/credential.ts). */
const Credential = Type.Object(
  {
    name: Type.String({ maxLength: 63 }),
    targets: Type.Array(
      Type.Object({ name: Type.String(), isWild: Type.Boolean(), port: Type.Integer() }, closed),
      { maxItems: 32 },
    ),
    header: Type.String({ maxLength: 64 }),
    value: Type.String({ maxLength: 16_384 }),
    text: Type.String({ maxLength: 32_768 }),
    methods: Type.Optional(texts(16)),
    path_prefixes: Type.Optional(texts(32)),
    allow_http: Type.Boolean(),
  },
  closed,
);

/** The rules and secrets that decide about the connections of a sandbox, as texts. */
export const EgressOrder = Type.Object(
  {
    server: Type.Object(
      {
        allow: texts(10_000),
        deny: texts(10_000),
        allow_private: texts(1000),
        private_names: Type.Optional(texts(1000)),
        allow_wide_rules: Type.Boolean(),
        groups: Type.Record(Type.String(), Type.String({ maxLength: 16_384 })),
      },
      closed,
    ),
    proxy_port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    mode: Type.Enum([...EGRESS_WAYS]),
    owner: Type.Optional(nameless(EgressCeiling)),
    template: Type.Optional(Rules),
    spawn: Type.Optional(Rules),
    credentials: Type.Array(Credential, { maxItems: 64 }),
    /** Under the first that programs can be made to trust, TLS is ended; the newest first. */
    authorities: Type.Array(Type.Object({ certificate: Type.String(), key: Type.String() }, closed), {
      maxItems: 16,
    }),
  },
  { $id: 'EgressOrder', ...closed },
);
export type EgressOrder = Static<typeof EgressOrder>;

const number = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

const Counters = Type.Object({
  allowed: number,
  denied: number,
  failed: number,
  open: number,
  sent_bytes: number,
  received_bytes: number,
});

/** The state of a gate. `added` are the counts since the report before, on the one link that counts them. */
const Report = Type.Object({
  counters: Counters,
  added: Type.Optional(Counters),
  missing: Type.Array(Type.Integer(), { maxItems: 64 }),
  intercepts: Type.Boolean(),
  /** Orders that were applied. */
  orders: Type.Optional(number),
});
export type EgressReport = Static<typeof Report>;

const query = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  decision: Type.Optional(Type.Enum([...EGRESS_DECISIONS])),
};

/** From the control plane. Each is answered by a line with its `id`. */
export const EgressCall = Type.Object({
  id: number,
  /** Opens the gate, or changes its policy; answered once forbidden connections are closed. */
  apply: Type.Optional(EgressOrder),
  /**
   * The `orders` of a report that is older than what the order was made from. The order is applied only while that many were:
   * another control plane may have sent a newer one.
   */
  after: Type.Optional(number),
  /**
   * Sent every 10 s. A worker that got one ends the link after 30 s without a call: one side of a connection can vanish without a sign.
   */
  beat: Type.Optional(Type.Boolean()),
  check: Type.Optional(Type.Object({ host: Type.String({ maxLength: 256 }), port: Type.Integer() })),
  log: Type.Optional(Type.Object(query)),
  /** Ends the gate, and all links to it: nothing of it is left for the next order. */
  end: Type.Optional(Type.Boolean()),
  /** Whether new lines of the decision log are sent from now on. */
  follow: Type.Optional(Type.Boolean()),
});
export type EgressCall = Static<typeof EgressCall>;

export const EgressAnswer = Type.Object({
  id: Type.Optional(number),
  error: Type.Optional(
    Type.Object({ code: Type.Enum([...ERROR_CODES]), message: Type.String({ maxLength: 4096 }) }),
  ),
  report: Type.Optional(Report),
  /** The order was not applied: more were than it names in `after`. */
  outrun: Type.Optional(Type.Boolean()),
  check: Type.Optional(nameless(EgressCheck)),
  log: Type.Optional(Type.Array(nameless(EgressLogLine), { maxItems: 1000 })),
  line: Type.Optional(nameless(EgressLogLine)),
  event: Type.Optional(
    Type.Object({
      type: Type.Enum(['egress.denied', 'egress.allowed', 'egress.limited', 'egress.credential_used']),
      host: Type.String({ maxLength: 512 }),
      port: Type.Integer(),
      reason: Type.Enum([...EGRESS_REASONS]),
      rule: Type.Optional(Type.String({ maxLength: 300 })),
      layer: Type.Optional(Type.Enum([...EGRESS_LAYERS])),
      credential: Type.Optional(Type.String({ maxLength: 64 })),
      count: number,
    }),
  ),
});
export type EgressAnswer = Static<typeof EgressAnswer>;
