// Egress policies as text for people.
import { printable } from '../domain/printable.ts';
import type {
  EgressCeiling,
  EgressCheck,
  EgressGroup,
  EgressLogLine,
  EgressStatus,
  EgressSuggestion,
  EgressSummary,
} from '../schema/egress.ts';
import { facts, sizeText, tableOf } from './render.ts';

export const egressGroupTable = tableOf<EgressGroup>(
  [
    { title: 'group', value: ({ name }) => name },
    { title: 'rules', value: ({ rules }) => rules.join(' ') },
  ],
  'No groups.',
);

export const egressTarget = ({ host, port }: { host: string; port: number }) =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

export function egressCheckFacts(check: EgressCheck): string {
  return facts([
    ['decision', check.decision],
    ['reason', check.reason],
    ['target', egressTarget(check)],
    ['rule', check.rule],
    ['layer', check.layer],
    ['addresses', check.addresses?.join(' ')],
  ]);
}

/** `proxy, default deny, 2 allow, 1 deny` */
export const egressText = ({ mode, default: otherwise, allow_count, deny_count }: EgressSummary): string =>
  `${mode}, default ${otherwise}, ${allow_count} allow, ${deny_count} deny`;

/** Lines of a policy among other facts. */
export function policyEntries(policy: EgressCeiling | undefined) {
  return [
    ['egress', policy && `default ${policy.default ?? 'deny'}`],
    ['allow', policy?.allow ?? []],
    ['deny', policy?.deny ?? []],
  ] as const;
}

const bound = (value: number, unit: string) => (value === 0 ? 'no cap' : `${sizeText(value)}${unit}`);

export function egressFacts(status: EgressStatus): string {
  const { counters } = status;
  return facts([
    ['mode', status.is_open ? status.mode : `${status.mode}, not open now`],
    ...status.layers.flatMap(({ name, default: otherwise, allow, deny }) => [
      ['layer', `${name}, default ${otherwise}`] as const,
      ['  allow', allow] as const,
      ['  deny', deny] as const,
    ]),
    ['connections', `${counters.open} of ${status.max_connections}`],
    ['rate', bound(status.bytes_per_second, '/s')],
    ['bytes', bound(status.max_bytes, '')],
    ['allowed', counters.allowed],
    ['denied', counters.denied],
    ['failed', counters.failed],
    ['sent', sizeText(counters.sent_bytes)],
    ['received', sizeText(counters.received_bytes)],
    ['warnings', status.warnings],
  ]);
}

/** One decision as a line. */
export function egressLogText(line: EgressLogLine): string {
  const rule = line.rule === undefined ? '' : ` by ${line.rule}`;
  const layer = line.layer === undefined ? '' : ` (${line.layer})`;
  return printable(`${line.at} ${line.decision} ${egressTarget(line)} ${line.reason}${rule}${layer}`);
}

/** YAML. Rules are quoted: `*` and `@` begin something else there. */
export function egressSuggestionText({ allow }: EgressSuggestion): string {
  return [
    'egress:',
    allow.length === 0 ? '  allow: []' : '  allow:',
    ...allow.map((rule) => `    - ${JSON.stringify(rule)}`),
  ].join('\n');
}
