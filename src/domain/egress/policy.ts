// Decides where a sandbox may connect. Layers (server, owner, template, spawn) only narrow: every layer must allow a target, and
// each can refuse it. Names are decided before they are resolved; addresses are judged before they are connected to.
import { isIP } from 'node:net';
import type { EgressLayerName, EgressReason } from '../../schema/egress.ts';
import { type AddressFault, addressFault, carriedAddress } from '../outgoing-address.ts';
import type { EgressHost } from './host.ts';
import { coversPort, type EgressRule } from './rule.ts';

export interface EgressLayer {
  readonly name: EgressLayerName;
  /** What holds for public targets that no rule names. */
  readonly default: 'allow' | 'deny';
  readonly allow: readonly EgressRule[];
  readonly deny: readonly EgressRule[];
}

export interface EgressDecision {
  readonly allowed: boolean;
  readonly reason: EgressReason;
  /** The text of the rule that decided, where one did. */
  readonly rule?: string;
  /** The layer that decided: the one that refused, or the last one that allowed. */
  readonly layer?: EgressLayerName;
}

/** What the operator permits beyond rules, and what the machine is. */
export interface AddressFacts {
  /** Private addresses that rules may allow (`egress.allow_private`). */
  isPermittedPrivate(address: string): boolean;
  /** Addresses of this host's interfaces. */
  isOwn(address: string): boolean;
  /** The name that led to the address, where the operator permits its private addresses (`egress.private_names`). */
  readonly privateName?: EgressHost | undefined;
}

/** Ports of mail, by which a sandbox could send spam: a rule has to name them. */
const MAIL_PORTS = [25, 465, 587];

const FAULT_REASONS: Record<AddressFault, EgressReason> = {
  'a loopback address': 'address_loopback',
  'a link-local address': 'address_link_local',
  "a cloud's metadata service": 'address_metadata',
  'a private address': 'address_private',
  'not the address of one host': 'address_not_one_host',
  'no address': 'address_not_one_host',
};

/**
 * Whether a connection to `host` and `port` may be tried at all. An allowed name may be resolved, and each of its addresses must
 * then pass `judgeAddress`; an allowed literal must pass it, too. Without a layer nothing is allowed.
 */
export function decideTarget(layers: readonly EgressLayer[], host: EgressHost, port: number): EgressDecision {
  for (const { name, deny } of layers) {
    const rule = deny.find((each) => each.matches(host) && coversPort(each, port));
    if (rule) return { allowed: false, reason: 'rule_deny', rule: rule.text, layer: name };
  }
  let decision: EgressDecision = { allowed: false, reason: 'not_allowed' };
  for (const layer of layers) {
    decision = decisionOf(layer, host, port);
    if (!decision.allowed) return decision;
  }
  return decision;
}

function decisionOf(layer: EgressLayer, host: EgressHost, port: number): EgressDecision {
  const { name } = layer;
  const isMail = MAIL_PORTS.includes(port);
  const named = layer.allow.filter((rule) => rule.matches(host));
  const rule = named.find((each) => coversPort(each, port) && (!isMail || each.namesPorts));
  if (rule) return { allowed: true, reason: 'rule_allow', rule: rule.text, layer: name };
  if (layer.default === 'allow' && !isMail) return { allowed: true, reason: 'default_allow', layer: name };
  const isPort = named.length > 0 || layer.default === 'allow';
  return { allowed: false, reason: isPort ? 'port_not_allowed' : 'not_allowed', layer: name };
}

/**
 * Whether an allowed target may be connected to at `address`. Private addresses need the operator's permission and, in each
 * layer but the server's, a rule that names what is permitted: the address, or a name whose addresses the operator trusts. An IPv6 address that carries an IPv4 address must pass as both.
 */
export function judgeAddress(
  layers: readonly EgressLayer[],
  address: string,
  port: number,
  facts: AddressFacts,
): EgressDecision {
  const carried = isIP(address) === 6 ? carriedAddress(address) : undefined;
  const inner = carried === undefined ? undefined : judgeAddress(layers, carried, port, facts);
  if (inner?.allowed === false) return inner;
  const host: EgressHost = { kind: 'address', address };
  const fault = addressFault(address, false, false);
  if (fault !== undefined && fault !== 'a private address')
    return { allowed: false, reason: FAULT_REASONS[fault] };
  if (facts.isOwn(address)) return { allowed: false, reason: 'address_own_host' };
  for (const { name, deny } of layers) {
    const rule = deny.find((each) => each.kind === 'address' && each.matches(host) && coversPort(each, port));
    if (rule) return { allowed: false, reason: 'address_denied', rule: rule.text, layer: name };
  }
  if (fault === undefined || inner?.allowed) return { allowed: true, reason: 'rule_allow' };
  const permitted = [facts.isPermittedPrivate(address) && host, facts.privateName].filter((each) => !!each);
  const refusing = permitted.map((each) => layers.find((layer) => !namesHost(layer, each, port)));
  if (refusing.includes(undefined)) return { allowed: true, reason: 'rule_allow' };
  return { allowed: false, reason: 'address_private', ...(refusing[0] && { layer: refusing[0].name }) };
}

/** The layer of the server permits by settings of its own. */
function namesHost({ name, allow }: EgressLayer, host: EgressHost, port: number): boolean {
  if (name === 'server') return true;
  return allow.some((rule) => rule.kind === host.kind && rule.matches(host) && coversPort(rule, port));
}
