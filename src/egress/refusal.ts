// What a program in a sandbox gets instead of a connection: one sentence and a reason, by HTTP or as a reply of SOCKS.
import type { EgressDecision } from '../domain/egress/policy.ts';
import { printable } from '../domain/printable.ts';
import type { EgressLogLine, EgressReason } from '../schema/egress.ts';
import type { SocksReply } from './socks.ts';

/** The header that carries the reason. */
export const REASON_HEADER = 'x-svc-egress';
const SHOWN = 260;

export interface RefusalFacts {
  readonly rule?: string | undefined;
  readonly layer?: EgressDecision['layer'] | undefined;
  readonly address?: string | undefined;
}

/** Ends an attempt to connect. `host` may be hostile text. */
export class EgressRefusal extends Error {
  readonly reason: EgressReason;
  readonly facts: RefusalFacts;

  constructor(reason: EgressReason, facts: RefusalFacts = {}) {
    super(reason);
    this.reason = reason;
    this.facts = facts;
  }
}

/** Any failure as a refusal. */
export function refusalOf(error: unknown): EgressRefusal {
  return error instanceof EgressRefusal ? error : new EgressRefusal('unreachable');
}

interface Outcome {
  readonly decision: EgressLogLine['decision'];
  readonly status: number;
  /** Follows the target: `example.com:443 …`. */
  readonly text: string;
}

const BY_POLICY = 'is not allowed by the egress policy of this sandbox.';
const NOT_REACHABLE = 'leads to an address that sandboxes may not reach.';
const denied = (text: string, status = 403): Outcome => ({ decision: 'denied', status, text });
const failed = (text: string, status: number): Outcome => ({ decision: 'failed', status, text });

const OUTCOMES: Record<Exclude<EgressReason, 'rule_allow' | 'default_allow'>, Outcome> = {
  rule_deny: denied('is refused by a rule of the egress policy of this sandbox.'),
  not_allowed: denied(BY_POLICY),
  port_not_allowed: denied('is a port that the egress policy of this sandbox does not allow.'),
  address_private: denied('leads to a private address, which the operator has not opened to sandboxes.'),
  address_loopback: denied(NOT_REACHABLE),
  address_link_local: denied(NOT_REACHABLE),
  address_metadata: denied(NOT_REACHABLE),
  address_own_host: denied(NOT_REACHABLE),
  address_not_one_host: denied(NOT_REACHABLE),
  address_denied: denied('leads to an address that the egress policy of this sandbox refuses.'),
  policy_changed: denied('is no longer allowed by the egress policy of this sandbox.'),
  name_invalid: denied('is not a valid host and port.'),
  sni_mismatch: denied('was asked for by another server name in TLS.'),
  host_mismatch: denied('is not the host of the Host header.', 421),
  method_denied: denied('cannot be reached by this method.'),
  bytes: denied('was refused: this sandbox has used all bytes of its egress policy.'),
  rate: denied('was refused: this sandbox opens too many connections. Retry later.', 429),
  connections: denied('was refused: too many connections are open. Close some, then retry.', 429),
  name_not_found: failed('has no address.', 502),
  unreachable: failed('could not be reached.', 502),
  timeout: failed('did not answer in time.', 504),
  tls_failed: failed('could not be reached by TLS with a valid certificate.', 502),
};

function outcomeOf(reason: EgressReason): Outcome {
  if (reason === 'rule_allow' || reason === 'default_allow')
    return { decision: 'allowed', status: 200, text: '' };
  return OUTCOMES[reason];
}

export const decisionOf = (reason: EgressReason): EgressLogLine['decision'] => outcomeOf(reason).decision;
export const statusOf = (reason: EgressReason): number => outcomeOf(reason).status;

/** The sentence that the program reads. `target` is what it asked for. */
export function sentenceOf(reason: EgressReason, target: string): string {
  return `${shown(target)} ${outcomeOf(reason).text}`;
}

/** Hostile text, cut and without control characters. */
export const shown = (text: string): string => printable(text.slice(0, SHOWN));

export function socksReplyOf(reason: EgressReason): SocksReply {
  return decisionOf(reason) === 'failed' ? 'unreachable' : 'notAllowed';
}

/** The body of any answer that is ours. */
export const bodyOf = (text: string): Buffer => Buffer.from(`${text}\n`);

/** A complete answer for a connection that has no parser of HTTP any more. */
export function refusalBytes(status: number, phrase: string, reason: string, text: string): Buffer {
  const body = bodyOf(text);
  const head = [
    `HTTP/1.1 ${status} ${phrase}`,
    'content-type: text/plain; charset=utf-8',
    `${REASON_HEADER}: ${reason}`,
    `content-length: ${body.length}`,
    'connection: close',
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
