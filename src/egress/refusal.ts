// What a program in a sandbox gets instead of a connection: one sentence and a reason, by HTTP or as a reply of SOCKS.
import type { EgressDecision } from '../domain/egress/policy.ts';
import { reasonText } from '../domain/egress/reason-text.ts';
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

/** HTTP status of what is not 403 or failed. */
const STATUSES: Partial<Record<EgressReason, number>> = {
  host_mismatch: 421,
  rate: 429,
  connections: 429,
  name_not_found: 502,
  unreachable: 502,
  timeout: 504,
  tls_failed: 502,
};
const FAILED = new Set<EgressReason>(['name_not_found', 'unreachable', 'timeout', 'tls_failed']);

const isAllowed = (reason: EgressReason) => reason === 'rule_allow' || reason === 'default_allow';

export function decisionOf(reason: EgressReason): EgressLogLine['decision'] {
  if (isAllowed(reason)) return 'allowed';
  return FAILED.has(reason) ? 'failed' : 'denied';
}

export const statusOf = (reason: EgressReason): number =>
  isAllowed(reason) ? 200 : (STATUSES[reason] ?? 403);

/** The sentence that the program reads. `target` is what it asked for. */
export function sentenceOf(reason: EgressReason, target: string): string {
  return `${shown(target)} ${reasonText(reason)}`;
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
