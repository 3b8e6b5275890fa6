// Where a sandbox may connect, from E2B's words to a policy of ours (docs/network.md). There what is allowed wins over what is
// denied, and all else is allowed; here denied wins. A wish in which that makes a difference is refused.
import { addressRanges, isAddressRange } from '../../domain/address.ts';
import type { PortWish } from '../../domain/port-terms.ts';
import type { EgressPolicy } from '../../schema/egress.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import { badWish } from './answers.ts';
import type { Fields } from './read-body.ts';

const ALL = ['0.0.0.0/0', '::/0'];
const EVERY_PORT = ':*';

const HOST = /^[A-Za-z0-9._-]{1,253}(?::(?:\d{1,5}|\$\{PORT\}))?$/;
const MOST_PORTS = 64;

/** What sandboxes get whose programs wish nothing: see `e2b.egress` in the configuration. */
export type UsualEgress = 'default' | 'none' | 'public';

/** The part of a spawn. Throws `bad_request` for a wish that cannot be met. */
export function networkOf(body: Fields, usual: UsualEgress): Pick<SpawnRequest, 'network' | 'egress'> {
  const wish = wishOf(body.object('network'));
  if (isCutOff(body, wish)) return { network: 'none' };
  const policy = policyOf(wish);
  if (policy) return { egress: policy };
  if (usual === 'public') return { egress: { default: 'allow' } };
  return usual === 'none' ? { network: 'none' } : {};
}

/** The policy that replaces that of a running sandbox; what is left out is cleared. Throws as `networkOf` does. */
export function changedPolicy(body: Fields): EgressPolicy {
  refuseUnsupported(body);
  const wish = wishOf(body);
  if (isCutOff(body, wish)) return { default: 'deny' };
  return policyOf(wish) ?? { default: 'allow' };
}

interface Wish {
  allowed: string[];
  denied: string[];
}

function wishOf(network: Fields | undefined): Wish {
  const texts = (name: string) => {
    const list = network?.list(name) ?? [];
    if (list.length <= 256 && list.every((one) => typeof one === 'string')) return list as string[];
    throw badWish(`network.${name} must be a list of at most 256 texts.`);
  };
  return { allowed: texts('allowOut'), denied: texts('denyOut') };
}

function isCutOff(body: Fields, { allowed, denied }: Wish): boolean {
  const isDenied = body.flag('allow_internet_access') === false || denied.some((one) => ALL.includes(one));
  return isDenied && allowed.length === 0;
}

function policyOf({ allowed, denied }: Wish): EgressPolicy | undefined {
  if (allowed.some((one) => ALL.includes(one))) return undefined;
  if (denied.some((one) => ALL.includes(one)))
    return { default: 'deny', allow: allowed.map((one) => one + EVERY_PORT) };
  const names = allowed.filter((one) => !isAddressRange(one));
  if (names.length > 0)
    throw badWish('Names in network.allowOut need 0.0.0.0/0 in network.denyOut.', 'Deny all other traffic.');
  if (denied.length === 0) return undefined;
  const strange = denied.find((one) => !isAddressRange(one));
  if (strange !== undefined) throw badWish('network.denyOut takes addresses and CIDR blocks.');
  if (allowed.some((one) => meets(one, denied)))
    throw badWish(
      'network.allowOut names targets that network.denyOut denies, and here denied wins.',
      'Deny 0.0.0.0/0 and allow what is needed.',
    );
  return { default: 'allow', deny: denied };
}

/** Whether two blocks share an address: then the first address of one is in the other. */
function meets(range: string, others: string[]): boolean {
  const first = (one: string) => one.split('/')[0] ?? '';
  return addressRanges(others)(first(range)) || others.some((other) => addressRanges([range])(first(other)));
}

/** Throws `bad_request` for what no policy of ours can do. */
export function refuseUnsupported(network: Fields): void {
  for (const name of ['egressProxy', 'dnsServers', 'rules'])
    if (isSaid(network, name))
      throw badWish(`network.${name} is not supported by this server.`, 'Leave it out.');
}

/** What is wished of the ports of the sandbox. Throws `bad_request` for a malformed name or port. */
export function portsOf(body: Fields): PortWish {
  const network = body.object('network');
  const host = network?.text('maskRequestHost') || undefined;
  if (host !== undefined && !HOST.test(host))
    throw badWish('network.maskRequestHost must be a name with or without a port, such as localhost:8080.');
  const https = network?.list('httpsPorts') ?? [];
  if (https.length > MOST_PORTS || !https.every(isPort))
    throw badWish(`network.httpsPorts must be at most ${MOST_PORTS} ports.`);
  return { isPrivate: network?.flag('allowPublicTraffic') === false, host, https: https as number[] };
}

const isPort = (value: unknown) =>
  Number.isInteger(value) && (value as number) > 0 && (value as number) <= 65_535;

function isSaid(fields: Fields, name: string): boolean {
  const said = [() => fields.text(name), () => fields.list(name), () => fields.object(name)].map((read) => {
    try {
      return read();
    } catch {
      return undefined;
    }
  });
  return said.some((value) => value !== undefined && !isEmpty(value));
}

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
