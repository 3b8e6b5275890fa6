// From the texts of policies to layers that decide.
import type { EgressConfig } from '../../schema/config-egress.ts';
import type { EgressCeiling, EgressLayerName, EgressSummary, SandboxEgress } from '../../schema/egress.ts';
import { addressRanges } from '../address.ts';
import { ServiceError } from '../errors.ts';
import type { EgressLayer } from './policy.ts';
import { credentialNames } from './policy-view.ts';
import { type EgressRule, parseRules, type RuleOptions } from './rule.ts';

/** What a layer that narrows nothing allows: the port counts as named, so that mail needs a rule of the others alone. */
const EVERYTHING: EgressRule = {
  text: '*',
  kind: 'every',
  ports: [[1, 65_535]],
  namesPorts: true,
  matches: () => true,
};

/** The rules of each group by its name, without `@`. */
export function egressGroups({ groups }: Pick<EgressConfig, 'groups'>): Record<string, string[]> {
  const lists = Object.entries(groups).map(([name, text]): [string, string[]] => [
    name,
    text
      .split(',')
      .map((rule) => rule.trim())
      .filter((rule) => rule !== ''),
  ]);
  return Object.fromEntries(lists);
}

/** How rules are read on this server. */
export function ruleOptions(config: Pick<EgressConfig, 'groups' | 'allow_wide_rules'>): RuleOptions {
  return { groups: egressGroups(config), wideAllowed: config.allow_wide_rules };
}

/** Throws `bad_request` naming the first invalid rule. */
export function egressLayer(name: EgressLayerName, policy: EgressCeiling, options: RuleOptions): EgressLayer {
  return {
    name,
    default: policy.default ?? 'deny',
    allow: parseRules(policy.allow ?? [], 'allow', options),
    deny: parseRules(policy.deny ?? [], 'deny', options),
  };
}

/** The layer of the configuration; its empty `allow` narrows nothing. Throws `bad_request` for an invalid rule. */
export function serverLayer(
  config: Pick<EgressConfig, 'allow' | 'deny' | 'groups' | 'allow_wide_rules'>,
): EgressLayer {
  const { allow, deny } = config;
  const layer = egressLayer('server', { allow, deny }, { ...ruleOptions(config), wideAllowed: true });
  return allow.length === 0 ? { ...layer, allow: [EVERYTHING] } : layer;
}

/** Whether `egress.allow_private` has an address. */
export function privateRanges({ allow_private }: Pick<EgressConfig, 'allow_private'>) {
  return addressRanges(allow_private);
}

/**
 * The rules of `egress.private_names`; without a port they cover every port. Throws `bad_request` for what is not a name, *.name or
 * a group of them.
 */
export function privateNames({
  private_names = [],
  ...config
}: Pick<EgressConfig, 'groups' | 'allow_wide_rules'> & { private_names?: readonly string[] }): EgressRule[] {
  const rules = parseRules(private_names, 'deny', ruleOptions(config));
  const other = rules.find(({ kind }) => kind !== 'name');
  if (other)
    throw new ServiceError('bad_request', `The private name ${JSON.stringify(other.text)} is not a name.`, {
      remedy: 'Use a name, *.name or a group of names; blocks of addresses belong in egress.allow_private.',
    });
  return rules;
}

/** Bytes a second of a text such as `20MiB/s`. Throws `bad_request`. */
export function byteRate(text: string): number {
  const [, count, unit = ''] = /^([1-9]\d{0,5})(B|KiB|MiB|GiB)\/s$/.exec(text) ?? [];
  if (count === undefined)
    throw new ServiceError('bad_request', 'egress.rate is not a rate.', {
      remedy: 'Use for example 20MiB/s.',
    });
  return Number(count) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit);
}

const CONNECTIONS = 64;

/** What policies bound together: the strictest of each applies; 0 means unlimited. Throws `bad_request` for an invalid rate. */
export function egressLimits(policies: readonly EgressCeiling[]): {
  max_connections: number;
  rate: number;
  max_bytes: number;
} {
  const least = (numbers: readonly number[]) => {
    const bounds = numbers.filter((number) => number > 0);
    return bounds.length === 0 ? 0 : Math.min(...bounds);
  };
  return {
    max_connections: least(policies.map((policy) => policy.max_connections ?? 0)) || CONNECTIONS,
    rate: least(policies.map(({ rate }) => (rate === undefined ? 0 : byteRate(rate)))),
    max_bytes: least(policies.map((policy) => policy.max_bytes ?? 0)),
  };
}

/** Reads all of a policy. Throws `bad_request` for what is invalid in it. */
export function checkPolicy(policy: EgressCeiling, options: RuleOptions): void {
  egressLayer('spawn', policy, options);
  egressLimits([policy]);
}

/** As the sandbox object shows it. */
export function egressSummary({ mode, template, spawn }: SandboxEgress): EgressSummary {
  const layers = [template, spawn].filter((layer) => layer !== undefined);
  const count = (list: 'allow' | 'deny') =>
    layers.reduce((sum, layer) => sum + (layer[list]?.length ?? 0), 0);
  const isOpen = layers.every((layer) => layer.default === 'allow');
  const counts = { allow_count: count('allow'), deny_count: count('deny') };
  const credentials = credentialNames({ ...(template && { template }), ...(spawn && { spawn }) });
  return {
    mode,
    default: isOpen ? 'allow' : 'deny',
    ...counts,
    ...(credentials.length > 0 && { credentials }),
  };
}

/** The variables by which programs find the proxy. `all_proxy` has the HTTP address too: clients often lack their SOCKS part. */
export function proxyVariables(port: number): Record<string, string> {
  const url = `http://127.0.0.1:${port}`;
  const both = (name: string, value: string) => ({ [name]: value, [name.toUpperCase()]: value });
  return {
    ...both('http_proxy', url),
    ...both('https_proxy', url),
    ...both('all_proxy', url),
    ...both('no_proxy', 'localhost,127.0.0.1,::1'),
    NODE_USE_ENV_PROXY: '1',
  };
}
