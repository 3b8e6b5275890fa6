// Which credential belongs to a request: by host, port, method and path.
import type { CredentialFacts, InlineCredential } from '../../schema/credential.ts';
import { ServiceError } from '../errors.ts';
import { type EgressHost, egressHost } from './host.ts';
import { isOwnName } from './rule.ts';

const HTTPS_PORT = 443;
const PLAIN_PORT = 80;
const ENDPOINT = '.svc.internal';
/** Headers that frame a message or name its target. */
const NOT_SETTABLE = new Set(
  `host connection content-length transfer-encoding upgrade te trailer expect keep-alive proxy-connection
  proxy-authorization via date content-type accept-encoding`.split(/\s+/),
);

interface CredentialTarget {
  readonly name: string;
  /** Every name below it instead of the name. */
  readonly isWild: boolean;
  readonly port: number;
}

/** A credential that is ready to be sent. */
export interface EgressCredential {
  readonly name: string;
  readonly targets: readonly CredentialTarget[];
  /** In lower case. */
  readonly header: string;
  readonly value: string;
  /** The text of the header, which contains the value. */
  readonly text: string;
  readonly methods?: readonly string[] | undefined;
  readonly path_prefixes?: readonly string[] | undefined;
  readonly allow_http: boolean;
}

type Facts = Omit<InlineCredential, 'name' | 'value'> | CredentialFacts;

/** Throws `bad_request` for hosts, a header or a format that cannot be used. */
export function checkCredential(facts: Facts): void {
  const targets = facts.hosts.map(targetOf);
  if (targets[0]?.isWild)
    throw invalid('The first host of a credential is a wildcard.', 'Begin with a name.');
  if (NOT_SETTABLE.has((facts.header ?? '').toLowerCase()))
    throw invalid(`A credential cannot set the header ${facts.header}.`, 'Use for example authorization.');
  if (facts.format !== undefined && facts.basic_user !== undefined)
    throw invalid('format cannot be combined with basic_user.', 'Remove one of them.');
  if (facts.format !== undefined && facts.format.split('{value}').length !== 2)
    throw invalid('The format of a credential must contain {value} once.', 'Use for example Bearer {value}.');
}

/** Whether a value can be sent, as the API takes it. */
export const isHeaderText = (value: string): boolean => /^[ -~]{1,16384}$/.test(value);

/** Throws as `checkCredential` does. */
export function egressCredential(name: string, facts: Facts, value: string): EgressCredential {
  checkCredential(facts);
  const { hosts, header = 'authorization', methods, path_prefixes, allow_http = false } = facts;
  const text = textOf(facts, value);
  const targets = hosts.map(targetOf);
  return { name, targets, header: header.toLowerCase(), value, text, methods, path_prefixes, allow_http };
}

function textOf({ format = '{value}', basic_user }: Facts, value: string): string {
  if (basic_user !== undefined) return `Basic ${Buffer.from(`${basic_user}:${value}`).toString('base64')}`;
  // Not by `replace`: a value may contain `$&`.
  return format.split('{value}').join(value);
}

function targetOf(text: string): CredentialTarget {
  const [, wild, host = '', port] = /^(\*\.)?([^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const read = egressHost(host);
  const number = port === undefined ? HTTPS_PORT : Number(port);
  if (read?.kind !== 'name' || isOwnName(read.name) || number < 1 || number > 65_535)
    throw invalid(
      `The host ${JSON.stringify(text)} of a credential is not a name.`,
      'Use name, *.name or name:port.',
    );
  return { name: read.name, isWild: wild !== undefined, port: number };
}

/** The credential that `http://<name>.svc.internal` names. `host` is canonical. */
export function endpointCredential(
  credentials: readonly EgressCredential[],
  host: string,
): EgressCredential | undefined {
  const name = host.endsWith(ENDPOINT) ? host.slice(0, -ENDPOINT.length) : undefined;
  return credentials.find((credential) => credential.name === name);
}

/** Whether requests to the host get a credential over TLS: only then is TLS ended by the server. */
export function isBrokered(
  credentials: readonly EgressCredential[],
  host: EgressHost,
  port: number,
): boolean {
  return credentials.some((credential) => isFor(credential, host, port));
}

/** Credentials for a host, by TLS or, where they permit it, by plain HTTP. */
export function credentialsFor(
  credentials: readonly EgressCredential[],
  { host, port, isTls }: { host: EgressHost; port: number; isTls: boolean },
): EgressCredential[] {
  if (isTls) return credentials.filter((credential) => isFor(credential, host, port));
  // Port 80 stands for the port of HTTPS.
  return credentials.filter(
    (each) =>
      each.allow_http && (isFor(each, host, port) || (port === PLAIN_PORT && isFor(each, host, HTTPS_PORT))),
  );
}

function isFor({ targets }: EgressCredential, host: EgressHost, port: number): boolean {
  if (host.kind !== 'name') return false;
  const { name } = host;
  return targets.some(
    (target) =>
      target.port === port && (target.isWild ? name.endsWith(`.${target.name}`) : name === target.name),
  );
}

/** Whether a request may use the credential. `path` has no query. */
export function coversRequest(
  { methods, path_prefixes }: EgressCredential,
  { method, path }: { method: string; path: string },
): boolean {
  if (methods && !methods.includes(method)) return false;
  if (!path_prefixes) return true;
  return !isAmbiguous(path) && path_prefixes.some((prefix) => isBelow(path, prefix));
}

const isBelow = (path: string, prefix: string) =>
  path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`);

/** A server could read such a path as another one. */
const isAmbiguous = (path: string) => /%2e|%2f|%5c|\\|\/\/|\/\.{1,2}(?:\/|;|$)|;/i.test(path);

const invalid = (message: string, remedy: string) => new ServiceError('bad_request', message, { remedy });
