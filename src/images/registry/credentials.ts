// Credentials of registries, from the config.json that `docker login` writes. Credential helpers are programs and are not run.
import { readFile, stat } from 'node:fs/promises';
import { ServiceError } from '../../domain/errors.ts';

const MOST_BYTES = 1024 * 1024;
const HUB = 'docker.io';
const HUB_KEYS = ['index.docker.io', 'registry-1.docker.io'];

export type Credentials = { username: string; password: string } | { identityToken: string };

export interface CredentialFile {
  /** Those of the longest key that names the registry, or a part of the path; undefined for an anonymous pull. */
  find(registry: string, path: string): Credentials | undefined;
  /** Whether the file leaves this registry to a helper. */
  namesHelper(registry: string): boolean;
}

/** `path` is empty for no file. Throws `unavailable` when it cannot be read or is not such a file. */
export async function readCredentials(path: string): Promise<CredentialFile> {
  if (path === '') return { find: () => undefined, namesHelper: () => false };
  return parseCredentials(await readBounded(path));
}

async function readBounded(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > MOST_BYTES) throw new Error('too large');
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw unreadable(cause);
  }
}

/** Exported for tests and fuzzing. Throws `unavailable`. */
export function parseCredentials(text: string): CredentialFile {
  const file = fieldsOf(parsed(text));
  const entries = new Map<string, Credentials>();
  for (const [key, value] of Object.entries(fieldsOf(file.auths))) {
    const credentials = credentialsOf(fieldsOf(value));
    if (credentials) entries.set(plainKey(key), credentials);
  }
  const helpers = new Set(Object.keys(fieldsOf(file.credHelpers)).map(plainKey));
  const hasStore = typeof file.credsStore === 'string' && file.credsStore !== '';
  return {
    find(registry, path) {
      const wanted = `${registry}/${path}`;
      const keys = [...entries.keys()].filter((key) => wanted === key || wanted.startsWith(`${key}/`));
      return entries.get(keys.sort((a, b) => b.length - a.length)[0] ?? '');
    },
    namesHelper: (registry) => hasStore || helpers.has(registry),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The error of the parser quotes the file, which has passwords.
    throw unreadable(new Error('not JSON'));
  }
}

/** Keys are hosts, hosts with paths, or URLs such as https://index.docker.io/v1/. */
function plainKey(key: string): string {
  const bare = key
    .replace(/^https?:\/\//, '')
    .replace(/\/+$/, '')
    .replace(/\/v[12]$/, '');
  return HUB_KEYS.includes(bare) ? HUB : bare;
}

function credentialsOf({ auth, username, password, identitytoken }: Fields): Credentials | undefined {
  if (isText(identitytoken)) return { identityToken: identitytoken };
  if (isText(username) && typeof password === 'string') return { username, password };
  if (!isText(auth)) return undefined;
  const text = Buffer.from(auth, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon > 0 ? { username: text.slice(0, colon), password: text.slice(colon + 1) } : undefined;
}

type Fields = Record<string, unknown>;
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};

function unreadable(cause: unknown): ServiceError {
  return new ServiceError('unavailable', 'The credentials of registries cannot be read.', {
    cause,
    remedy:
      'Check images.docker_config: the file must be readable by this user, in the format that `docker login` writes.',
  });
}
