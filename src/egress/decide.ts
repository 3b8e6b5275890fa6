// Decides one target under one policy: the rules first, then the addresses that its name has.
import { type EgressHost, egressHost } from '../domain/egress/host.ts';
import { decideTarget, type EgressDecision, judgeAddress } from '../domain/egress/policy.ts';
import { coversPort, isOwnName } from '../domain/egress/rule.ts';
import type { EgressCheck } from '../schema/egress.ts';
import type { AppliedEgress } from './egress.ts';
import { EgressRefusal, refusalOf, shown } from './refusal.ts';

/** What a program wants to reach. */
export interface Wanted {
  readonly host: EgressHost;
  readonly port: number;
}

export const textOf = (host: EgressHost): string => (host.kind === 'name' ? host.name : host.address);

/** Reads a host as a program sent it. Throws the refusal `name_invalid`. */
export function wantedOf(host: string, port: number): Wanted {
  const read = egressHost(host);
  if (read === undefined || port < 1 || port > 65_535) throw new EgressRefusal('name_invalid');
  return { host: read, port };
}

/** Decides by the rules alone. Throws a refusal. */
export function allowTarget({ layers }: AppliedEgress, { host, port }: Wanted): EgressDecision {
  if (host.kind === 'name' && isOwnName(host.name)) throw new EgressRefusal('not_allowed');
  return passed(decideTarget(layers, host, port));
}

export type IsOwn = (address: string) => boolean;

/** Judges an address of the target. Throws a refusal that names it. */
export function allowAddress(
  policy: AppliedEgress,
  address: string,
  { host, port }: Wanted,
  isOwn: IsOwn,
): void {
  const { layers, isPermittedPrivate, privateNames = [] } = policy;
  const isPrivate = privateNames.some((rule) => rule.matches(host) && coversPort(rule, port));
  const facts = { isPermittedPrivate, isOwn, privateName: isPrivate ? host : undefined };
  passed(judgeAddress(layers, address, port, facts), address);
}

function passed(decision: EgressDecision, address?: string): EgressDecision {
  const { allowed, reason, rule, layer } = decision;
  if (!allowed) throw new EgressRefusal(reason, { rule, layer, address });
  return decision;
}

/**
 * Those of the addresses that may be connected to, at least one. Throws the refusal of the first where none may: an answer with a
 * public and a private address must lead to the public one alone.
 */
export function allowedAddresses(
  policy: AppliedEgress,
  addresses: readonly string[],
  wanted: Wanted,
  isOwn: IsOwn,
): string[] {
  let first: EgressRefusal | undefined;
  const allowed = addresses.filter((address) => {
    try {
      allowAddress(policy, address, wanted, isOwn);
      return true;
    } catch (error) {
      first ??= refusalOf(error);
      return false;
    }
  });
  if (allowed.length === 0) throw first ?? new EgressRefusal('name_not_found');
  return allowed;
}

export interface Decider {
  readonly policy: AppliedEgress;
  readonly isOwn: IsOwn;
  /** Addresses of an allowed name; rejects with a refusal. */
  addresses(name: string): Promise<readonly string[]>;
}

/** The addresses to try for a target. Rejects with a refusal; a refused name is not looked up. */
export async function decide(
  { policy, isOwn, addresses }: Decider,
  wanted: Wanted,
): Promise<{ decision: EgressDecision; addresses: string[] }> {
  const decision = allowTarget(policy, wanted);
  const { host } = wanted;
  const found = host.kind === 'name' ? await addresses(host.name) : [host.address];
  return { decision, addresses: allowedAddresses(policy, found, wanted, isOwn) };
}

/** What a connection would get, as an answer. Never rejects. */
export async function verdictOf(decider: Decider, host: string, port: number): Promise<EgressCheck> {
  let target = { host: shown(host), port };
  try {
    const wanted = wantedOf(host, port);
    target = { host: textOf(wanted.host), port };
    const { decision, addresses } = await decide(decider, wanted);
    return { decision: 'allowed', ...facts(decision), ...target, addresses };
  } catch (error) {
    const { reason, facts: by } = refusalOf(error);
    return { decision: 'denied', ...facts({ reason, rule: by.rule, layer: by.layer }), ...target };
  }
}

type Facts = Pick<EgressCheck, 'reason' | 'rule' | 'layer'>;

/** The facts that have a value. */
export function facts({ reason, rule, layer }: { [K in keyof Facts]: Facts[K] | undefined }): Facts {
  return {
    reason: reason ?? 'unreachable',
    ...(rule !== undefined && { rule }),
    ...(layer !== undefined && { layer }),
  };
}
