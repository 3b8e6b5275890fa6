// Rules of an egress policy: `<target>[:<port>|:<from>-<to>|:*]`, where a target is a name, `*.name`, `*`, an address, a CIDR
// block or `@group`.
import { addressRanges, ipVersion, isAddressRange } from '../address.ts';
import { ServiceError } from '../errors.ts';
import { type EgressHost, egressHost } from './host.ts';

/** Ports of an `allow` rule that names none: plain HTTP and HTTPS. */
export const USUAL_PORTS: readonly PortRange[] = [
  [80, 80],
  [443, 443],
];
const EVERY_PORT: readonly PortRange[] = [[1, 65_535]];
/** Names that the service answers itself. */
const OWN_NAMES = 'svc.internal';
const LONGEST = 300;

/** The first and the last port. */
export type PortRange = readonly [number, number];

export interface EgressRule {
  /** The rule as its author wrote it; for a rule of a group also the group: `@packages (pypi.org)`. */
  readonly text: string;
  readonly kind: 'name' | 'address' | 'every';
  readonly ports: readonly PortRange[];
  /** Whether the author named ports. Ports that carry mail need that. */
  readonly namesPorts: boolean;
  matches(host: EgressHost): boolean;
}

export interface RuleOptions {
  /** Lists of rules by the name of their group, without `@`. */
  groups?: Readonly<Record<string, readonly string[]>>;
  /** Whether `*.com` and the like are accepted: a wildcard below a single label. */
  wideAllowed?: boolean;
}

/**
 * Reads a list of rules; a group becomes its rules. An `allow` rule without a port means 80 and 443, a `deny` rule every port.
 * Throws `bad_request` naming the first rule that is invalid.
 */
export function parseRules(
  texts: readonly string[],
  list: 'allow' | 'deny',
  options: RuleOptions = {},
): EgressRule[] {
  return texts.flatMap((text) => {
    if (!text.startsWith('@')) return [parseRule(text, list, options)];
    const members = Object.hasOwn(options.groups ?? {}, text.slice(1))
      ? options.groups?.[text.slice(1)]
      : undefined;
    if (members === undefined)
      throw invalid(text, 'names an unknown group', 'Run `svc egress groups` to list the groups.');
    return members.map((member) => ({
      ...parseRule(member, list, { wideAllowed: true }),
      text: `${text} (${member})`,
    }));
  });
}

function parseRule(text: string, list: 'allow' | 'deny', options: RuleOptions): EgressRule {
  if (text.length > LONGEST)
    throw invalid(`${text.slice(0, 40)}…`, 'is too long', `Use at most ${LONGEST} characters.`);
  const [target, portText] = splitPort(text);
  const ports = portText === undefined ? undefined : portsOf(portText);
  if (portText !== undefined && ports === undefined)
    throw invalid(text, 'has an invalid port', 'Use :443, :8000-8100 or :*.');
  const facts = {
    text,
    ports: ports ?? (list === 'deny' ? EVERY_PORT : USUAL_PORTS),
    namesPorts: portText !== undefined && portText !== '*',
  };
  if (target === '*') return { ...facts, kind: 'every', matches: () => true };
  return { ...facts, ...(target.startsWith('*.') ? wildcard(text, target, options) : plain(text, target)) };
}

/** IPv6 has colons of its own, so it stands in brackets where a port follows. */
function splitPort(text: string): [string, string | undefined] {
  const [, bracketed, port] = /^\[([^\]]+)\](?::(.*))?$/s.exec(text) ?? [];
  if (bracketed !== undefined) return [bracketed, port];
  if (isAddressRange(text)) return [text, undefined];
  const colon = text.indexOf(':');
  return colon < 0 ? [text, undefined] : [text.slice(0, colon), text.slice(colon + 1)];
}

function portsOf(text: string): PortRange[] | undefined {
  if (text === '*') return [...EVERY_PORT];
  const [, from, to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const range: PortRange = [Number(from), Number(to)];
  return range[0] >= 1 && range[1] <= 65_535 && range[0] <= range[1] ? [range] : undefined;
}

type Target = Pick<EgressRule, 'kind' | 'matches'>;

function wildcard(text: string, target: string, { wideAllowed }: RuleOptions): Target {
  const host = egressHost(target.slice(2));
  if (host?.kind !== 'name') throw invalid(text, 'is not a name after `*.`', 'Use *.example.com.');
  refuseOwnNames(text, host.name);
  if (!wideAllowed && !host.name.includes('.'))
    throw invalid(
      text,
      'covers a top-level domain',
      'Name the domains, or ask the operator to set egress.allow_wide_rules.',
    );
  const suffix = `.${host.name}`;
  return { kind: 'name', matches: (other) => other.kind === 'name' && other.name.endsWith(suffix) };
}

function plain(text: string, target: string): Target {
  if (target.includes('/') || ipVersion(target) !== 0) return addresses(text, target);
  const host = egressHost(target);
  if (host === undefined)
    throw invalid(text, 'is not a host', 'Use a name, *.name, an address, a CIDR block or @group.');
  if (host.kind === 'address') return addresses(text, host.address);
  refuseOwnNames(text, host.name);
  return { kind: 'name', matches: (other) => other.kind === 'name' && other.name === host.name };
}

function addresses(text: string, range: string): Target {
  if (!isAddressRange(range))
    throw invalid(text, 'is not a CIDR block', 'Use 203.0.113.0/24 or [2001:db8::/32].');
  const holds = addressRanges([range]);
  return { kind: 'address', matches: (other) => other.kind === 'address' && holds(other.address) };
}

/** Whether the service answers the name itself: no rule can allow it. `name` is canonical. */
export function isOwnName(name: string): boolean {
  return name === OWN_NAMES || name.endsWith(`.${OWN_NAMES}`);
}

function refuseOwnNames(text: string, name: string): void {
  if (isOwnName(name))
    throw invalid(text, `is a name of this service`, `Names below ${OWN_NAMES} need no rule.`);
}

function invalid(text: string, fault: string, remedy: string): ServiceError {
  return new ServiceError('bad_request', `The egress rule ${JSON.stringify(text)} ${fault}.`, { remedy });
}

/** Whether a rule covers a port. */
export function coversPort({ ports }: EgressRule, port: number): boolean {
  return ports.some(([from, to]) => from <= port && port <= to);
}
