// Certificates of the authority that sandboxes trust, and of the names for which the server ends TLS (RFC 5280). Node reads
// certificates and does not write them.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';
import type { Random } from '../domain/ports.ts';
import {
  bits,
  explicit,
  implicit,
  integer,
  objectId,
  octets,
  sequence,
  set,
  time,
  utf8,
  yes,
} from './der.ts';
import type { KeyPair } from './egress.ts';

const ECDSA_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'));
const COMMON_NAME = objectId('2.5.4.3');
const [KEY_USAGE, ALTERNATIVE_NAME, BASIC_CONSTRAINTS] = ['2.5.29.15', '2.5.29.17', '2.5.29.19'].map(
  objectId,
);
const NAME_CONSTRAINTS = objectId('2.5.29.30');
const [AUTHORITY_KEY, EXTENDED_USAGE, SUBJECT_KEY] = ['2.5.29.35', '2.5.29.37', '2.5.29.14'].map(objectId);
const SERVER_AUTHENTICATION = objectId('1.3.6.1.5.5.7.3.1');
const SERIAL_BYTES = 16;
/** Clocks of sandboxes may be slow. */
const BEFORE_MS = 3_600_000;
const DNS_NAME = 2;
/** keyCertSign and cRLSign; digitalSignature. */
const [SIGNS_CERTIFICATES, SIGNS_DATA] = [bits(Buffer.from([0x06]), 1), bits(Buffer.from([0x80]), 7)];

export interface Terms {
  readonly random: Random;
  /** Wall clock, ms. */
  readonly now: number;
  /** Ms from now. */
  readonly lifeMs: number;
}

/**
 * A new authority that signs certificates of servers and nothing below other authorities. With `permitted` it is believed for
 * these names and all below them only.
 */
export function createAuthority(name: string, terms: Terms, permitted: readonly string[] = []): KeyPair {
  const { privateKey, publicKey } = newKey();
  const subject = nameOf(name);
  const extensions = [
    extension(BASIC_CONSTRAINTS, sequence(yes(), integer(Buffer.from([0]))), true),
    extension(KEY_USAGE, SIGNS_CERTIFICATES, true),
    extension(SUBJECT_KEY, octets(keyId(publicKey))),
    ...(permitted.length > 0 ? [extension(NAME_CONSTRAINTS, sequence(implicitSet(0, permitted)), true)] : []),
  ];
  const body = { subject, issuer: subject, publicKey, extensions, terms };
  return { certificate: signed(body, privateKey), key: pem(privateKey) };
}

/** The private key of leaves; one serves any number of names. */
export function leafKey(): string {
  return pem(newKey().privateKey);
}

/** A certificate of a server for exactly this name, or these: the first is its common name, too. */
export function createLeaf(
  names: string | readonly string[],
  authority: KeyPair & { name: string },
  key: string,
  terms: Terms,
): string {
  const all = typeof names === 'string' ? [names] : names;
  const publicKey = createPublicKey(key);
  const issuerKey = createPrivateKey(authority.key);
  const extensions = [
    extension(BASIC_CONSTRAINTS, sequence(), true),
    extension(KEY_USAGE, SIGNS_DATA, true),
    extension(EXTENDED_USAGE, sequence(SERVER_AUTHENTICATION)),
    extension(ALTERNATIVE_NAME, sequence(...all.map(dnsName))),
    extension(AUTHORITY_KEY, sequence(implicit(0, keyId(createPublicKey(issuerKey))))),
    extension(SUBJECT_KEY, octets(keyId(publicKey))),
  ];
  // The common name has at most 64 characters; verifiers read the alternative name.
  const [name = 'svc'] = all;
  const subject = nameOf(name.length <= 64 ? name : 'svc');
  return signed({ subject, issuer: nameOf(authority.name), publicKey, extensions, terms }, issuerKey);
}

interface Body {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly terms: Terms;
}

function signed({ subject, issuer, publicKey, extensions, terms }: Body, key: KeyObject): string {
  const { random, now, lifeMs } = terms;
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(positive(random.bytes(SERIAL_BYTES))),
    ECDSA_SHA256,
    issuer,
    sequence(time(now - BEFORE_MS), time(now + lifeMs)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions)),
  );
  const certificate = sequence(body, ECDSA_SHA256, bits(sign('sha256', body, key)));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

const dnsName = (name: string) => implicit(DNS_NAME, Buffer.from(name, 'latin1'));

/** `[n]` around subtrees of names, each a sequence of its base. */
const implicitSet = (n: number, names: readonly string[]) =>
  explicit(n, ...names.map((name) => sequence(dnsName(name))));

/** A serial number is positive and not zero. */
function positive(bytes: Buffer): Buffer {
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes;
}

const nameOf = (text: string) => sequence(set(sequence(COMMON_NAME, utf8(text))));

function extension(id: Buffer | undefined, value: Buffer, isCritical = false): Buffer {
  return sequence(id as Buffer, ...(isCritical ? [yes()] : []), octets(value));
}

/** SHA-1 of the public key, as RFC 5280 (4.2.1.2) names it; nothing relies on its strength. */
function keyId(key: KeyObject): Buffer {
  const spki = key.export({ type: 'spki', format: 'der' });
  // An uncompressed point of P-256 ends the structure: 0x04 and two numbers of 32 bytes.
  return createHash('sha1').update(spki.subarray(-65)).digest();
}

const newKey = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const pem = (key: KeyObject) => key.export({ type: 'pkcs8', format: 'pem' }).toString();
