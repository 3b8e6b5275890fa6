// A policy as it is applied, from the texts of its layers: by this server, or by the worker that runs the sandbox.
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
import type { EgressCredential } from './credential.ts';
import { gatePorts } from './gate-ports.ts';
import {
  egressLayer,
  egressLimits,
  privateNames,
  privateRanges,
  ruleOptions,
  serverLayer,
} from './layers.ts';
import type { AddressFacts, EgressLayer } from './policy.ts';
import type { EgressRule } from './rule.ts';

/** Replaced as one value; nothing in it changes. */
export interface AppliedPolicy {
  /** In the order server, owner, template, spawn. */
  readonly layers: readonly EgressLayer[];
  /** `egress.allow_private`. */
  readonly isPermittedPrivate: AddressFacts['isPermittedPrivate'];
  /** `egress.private_names`; absent: none. */
  readonly privateNames?: readonly EgressRule[];
  /** Connections at once, from 1 to 192; further ones wait 10 s. */
  readonly max_connections: number;
  /** Bytes a second in each direction; 0 is none. */
  readonly rate: number;
  /** Bytes of both directions together, over the life of the sandbox on this host; 0 is none. */
  readonly max_bytes: number;
  /** Ports that the transparent gate opens; undefined: programs use the proxy. */
  readonly ports?: readonly number[];
  /** Those that requests get, the strongest first. */
  readonly credentials: readonly EgressCredential[];
  /** Which decisions become events. */
  readonly log: 'denied' | 'all' | 'none';
  /** The port of the proxy in the sandbox; absent: the one of the settings. */
  readonly proxy_port?: number;
}

/**
 * The policy of an order. `own` is the configuration of a worker, whose rules narrow it further. Throws `bad_request` for an
 * invalid rule.
 */
export function appliedPolicy(
  { server, owner, template, spawn, mode, credentials, proxy_port }: EgressOrder,
  own?: Pick<EgressConfig, 'allow' | 'deny' | 'groups' | 'allow_wide_rules'>,
): AppliedPolicy {
  // What was stored under a setting that allowed wide rules still holds.
  const options = { ...ruleOptions(server), wideAllowed: true };
  const layers = [
    ...(own ? [serverLayer(own)] : []),
    serverLayer(server),
    ...(owner ? [egressLayer('owner', owner, options)] : []),
    ...(template ? [egressLayer('template', template, options)] : []),
    ...(spawn ? [egressLayer('spawn', spawn, options)] : []),
  ];
  return {
    layers,
    isPermittedPrivate: privateRanges(server),
    privateNames: privateNames(server),
    ...egressLimits([owner, template, spawn].filter((policy) => policy !== undefined)),
    credentials,
    log: spawn?.log ?? template?.log ?? 'denied',
    proxy_port,
    ...(mode === 'gate' && { ports: gatePorts(layers, [template?.ports, spawn?.ports]).ports }),
  };
}

/** The part of a configuration that an order carries. */
export function orderedRules({
  allow,
  deny,
  allow_private,
  private_names,
  allow_wide_rules,
  groups,
}: EgressConfig): EgressOrder['server'] {
  // Workers of an earlier version know no private names, and refuse what they do not know.
  const names = private_names.length > 0 && { private_names };
  return { allow, deny, allow_private, ...names, allow_wide_rules, groups };
}
