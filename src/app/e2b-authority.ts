// The authority that signs the certificate of `e2b.listen` where the operator has none: files beside the database, so that
// programs which trust it once do so after a restart. It is believed for the names of the sandboxes and for localhost alone.
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { ServiceError } from '../domain/errors.ts';
import type { Clock, Random } from '../domain/ports.ts';
import { createAuthority, createLeaf, leafKey } from '../egress/certificates.ts';
import { makeFoldersSync } from '../host/make-folders.ts';
import { partFile } from '../host/part-file.ts';
import type { Config } from '../schema/config.ts';

const DAY_MS = 86_400_000;
const AUTHORITY_MS = 3650 * DAY_MS;
/** Before its end it is replaced; programs must then trust the new one. */
const LEAST_LEFT_MS = 365 * DAY_MS;
/** A new one is made at each start and each day. */
const LEAF_MS = 90 * DAY_MS;
const SYSTEM_ROOTS = '/etc/ssl/certs/ca-certificates.crt';
const SERIAL_BYTES = 4;

export interface OwnAuthority {
  /** PEM file of the authority alone, for programs that add it to what they trust. */
  caFile: string;
  /** The same with the authorities of the system, for programs that trust nothing beside one file. */
  bundleFile: string;
  /** A certificate for the names of the domain, and its key, in PEM. */
  leaf(): { cert: string; key: string };
}

interface Ports {
  clock: Pick<Clock, 'now'>;
  random: Random;
}

/** Whether the listener has a certificate of this authority. */
export const usesOwnAuthority = ({ e2b }: Pick<Config, 'e2b'>): boolean =>
  e2b.listen !== '' && e2b.cert_file === '';

/** Reads it, or makes it. Idempotent, also for two processes at once. Throws `unavailable` where the files cannot be used. */
export function ownAuthority(
  { database, server }: Pick<Config, 'database' | 'server'>,
  ports: Ports,
): OwnAuthority {
  const folder = join(dirname(database.path), 'e2b', server.preview_domain);
  try {
    makeFoldersSync(folder, 0o755);
    return opened(folder, server.preview_domain, ports);
  } catch (cause) {
    throw new ServiceError('unavailable', `The authority of e2b.listen cannot be kept in ${folder}.`, {
      cause,
      remedy: 'Run the command as the user of the server, or set e2b.cert_file and e2b.key_file.',
    });
  }
}

function opened(folder: string, domain: string, { clock, random }: Ports): OwnAuthority {
  const [file, caFile, bundleFile] = ['authority.pem', 'ca.pem', 'bundle.pem'].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  const title = `svc e2b ${random.bytes(SERIAL_BYTES).toString('hex')}`;
  const make = () => {
    const terms = { random, now: clock.now(), lifeMs: AUTHORITY_MS };
    const { certificate, key } = createAuthority(title, terms, [domain, 'localhost']);
    return certificate + key;
  };
  if (!existsSync(file)) keepFirst(file, make());
  if (endOf(readFileSync(file, 'utf8')) - clock.now() < LEAST_LEFT_MS)
    publish(file, { text: make(), mode: 0o600, replace: true });
  const pem = readFileSync(file, 'utf8');
  const certificate = `${new X509Certificate(pem)}`;
  const roots = existsSync(SYSTEM_ROOTS) ? readFileSync(SYSTEM_ROOTS, 'utf8') : rootCertificates.join('\n');
  keepEqual(caFile, certificate);
  keepEqual(bundleFile, `${roots.trimEnd()}\n${certificate}`);
  const authority = { certificate, key: pem, name: nameOf(certificate) };
  return {
    caFile,
    bundleFile,
    leaf: () => {
      const key = leafKey();
      const terms = { random, now: clock.now(), lifeMs: LEAF_MS };
      return { key, cert: createLeaf([`*.${domain}`, domain, 'localhost'], authority, key, terms) };
    },
  };
}

const nameOf = (certificate: string) => new X509Certificate(certificate).subject.replace(/^CN=/, '');
const endOf = (pem: string) => Date.parse(new X509Certificate(pem).validTo);

/** The file appears with its content: two starts at once read the same key. */
function keepFirst(file: string, text: string): void {
  try {
    publish(file, { text, mode: 0o600, replace: false });
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'conflict')) throw error;
  }
}

function keepEqual(file: string, text: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text)
    publish(file, { text, mode: 0o644, replace: true });
}

function publish(file: string, { text, mode, replace }: { text: string; mode: number; replace: boolean }) {
  const part = partFile(file);
  try {
    writeFileSync(part.path, text);
    chmodSync(part.path, mode);
    part.publish(replace);
  } finally {
    part.discard();
  }
}
