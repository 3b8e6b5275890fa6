// The variables with which the SDKs of E2B find a server (docs/e2b.md). A key is never printed: the shell reads it from where it is.

import { readFileSync } from 'node:fs';
import { ServiceError } from '../domain/errors.ts';
import { quoteWord } from '../domain/exec-request.ts';
import type { TlsHere } from '../domain/tls-here.ts';
import type { ConnectionFlags } from './connection.ts';

/** One connection for each open command, terminal and watch: 200, their default, is little. */
const CONNECTIONS = '2000';
/** Where authentication is off, any text does; older SDKs check its form. */
const ANY_KEY = 'e2b_0';
const OLD_FORM = /^e2b_[0-9a-f]+$/;

export interface E2bVariables {
  /** In the order in which they are printed; values are words of a shell. */
  variables: Record<string, string>;
  /** What programs of others would trip over; absent when there is nothing. */
  note?: string;
}

/** Throws `bad_request` for an address that is not one, or a key file that cannot be read. */
export function e2bVariables(
  { server, 'api-key-file': file }: Pick<ConnectionFlags, 'server' | 'api-key-file'>,
  env: NodeJS.ProcessEnv,
  tls?: TlsHere,
): E2bVariables {
  const url = tls ? `https://localhost:${tls.port}` : addressOf(server);
  const key = file === undefined ? env.SVC_API_KEY : readKey(file);
  const isOld = key === undefined || key === '' || OLD_FORM.test(key);
  return {
    variables: {
      ...(tls && { E2B_DOMAIN: quoteWord(tls.domain) }),
      // Node does not resolve names below localhost.
      E2B_API_URL: quoteWord(url),
      E2B_SANDBOX_URL: quoteWord(url),
      E2B_API_KEY: keyWord(file, key),
      E2B_MAX_CONNECTIONS: CONNECTIONS,
      NO_PROXY: quoteWord([...new Set(['127.0.0.1', 'localhost', ...hostsOf(url, tls)])].join(',')),
      ...(tls?.trust && {
        NODE_EXTRA_CA_CERTS: quoteWord(tls.trust.caFile),
        SSL_CERT_FILE: quoteWord(tls.trust.bundleFile),
      }),
    },
    ...(!isOld && {
      note: 'SDKs before 2.46 refuse keys of this form. Create one for them: svc key create NAME --format e2b',
    }),
  };
}

/** What proxies of the environment are not asked for. A name stands for those below it, too. */
const hostsOf = (url: string, tls: TlsHere | undefined): string[] =>
  tls ? [tls.domain.replace(/:\d+$/, '')] : [new URL(url).hostname];

export function exportLines({ variables }: E2bVariables): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${value}`)
    .join('\n');
}

function keyWord(file: string | undefined, key: string | undefined): string {
  if (file !== undefined) return `"$(cat ${quoteWord(file)})"`;
  return key === undefined || key === '' ? ANY_KEY : '"$SVC_API_KEY"';
}

/** Their SDKs join addresses and paths as text. */
function addressOf(server: string): string {
  if (URL.canParse(server) && /^https?:/.test(server)) return server.replace(/\/+$/, '');
  throw new ServiceError('bad_request', 'The address of the server is not a URL.', {
    remedy: 'Use a URL such as http://127.0.0.1:7423.',
  });
}

function readKey(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ServiceError('bad_request', 'The API key file cannot be read.', { cause, details: { file } });
  }
}
