// Rules for what a sandbox tried to reach.
import type { EgressLogLine } from '../../schema/egress.ts';
import { USUAL_PORTS } from './rule.ts';

type Tried = Pick<EgressLogLine, 'host' | 'port' | 'reason'>;

/** Refusals that another rule in `allow` would not change. */
const FORBIDDEN: readonly string[] = [
  'rule_deny',
  'name_invalid',
  'host_mismatch',
  'sni_mismatch',
  'method_denied',
];

/** The fewest rules without wildcards that allow what the log shows, sorted; nothing for what no rule can allow. */
export function suggestedRules(log: readonly Tried[]): string[] {
  const allowable = log.filter(({ reason }) => !FORBIDDEN.includes(reason) && !reason.startsWith('address_'));
  return [...new Set(allowable.map(ruleFor))].sort();
}

function ruleFor({ host, port }: Tried): string {
  const target = host.includes(':') ? `[${host}]` : host;
  const isUsual = USUAL_PORTS.some(([from, to]) => from <= port && port <= to);
  return isUsual ? target : `${target}:${port}`;
}
