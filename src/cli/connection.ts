// Connects client commands to the server: flags first, then SVC_ variables, then the default address.
import { readFileSync } from 'node:fs';
import { Flags } from '@oclif/core';
import { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import { localReason } from './local-failure.ts';

export const DEFAULT_SERVER = 'http://127.0.0.1:7423';

export const clientFlags = {
  server: Flags.string({
    description: 'Address of the server.',
    env: 'SVC_SERVER',
    default: DEFAULT_SERVER,
    helpGroup: 'CONNECTION',
    helpValue: '<url>',
  }),
  'api-key-file': Flags.string({
    description: 'File with the API key; SVC_API_KEY can hold the key itself.',
    env: 'SVC_API_KEY_FILE',
    helpGroup: 'CONNECTION',
    helpValue: '<file>',
  }),
  user: Flags.string({
    description: 'Owner to act for, sent as X-User-ID.',
    env: 'SVC_USER',
    helpGroup: 'CONNECTION',
    helpValue: '<id>',
  }),
  retry: Flags.boolean({
    description: 'Retry when the server is temporarily unavailable; SVC_RETRY=false equals --no-retry.',
    env: 'SVC_RETRY',
    default: true,
    allowNo: true,
    helpGroup: 'CONNECTION',
  }),
};

export interface ConnectionFlags {
  server: string;
  'api-key-file'?: string | undefined;
  user?: string | undefined;
  retry?: boolean;
}

/** A client for the flags and `env`. Sends nothing yet. Throws `bad_request` for an unusable key file. */
export function connect(flags: ConnectionFlags, env: NodeJS.ProcessEnv = process.env): Client {
  const apiKey = flags['api-key-file'] === undefined ? env.SVC_API_KEY : keyFrom(flags['api-key-file']);
  return new Client({
    server: flags.server,
    serverFrom: serverFrom(env),
    ...(apiKey ? { apiKey } : {}),
    ...(flags.user === undefined ? {} : { user: flags.user }),
    ...(flags.retry === false ? { retry: false as const } : {}),
  });
}

/** The source of the address, for messages. */
function serverFrom(env: NodeJS.ProcessEnv, argv: readonly string[] = process.argv): string {
  const dashes = argv.indexOf('--');
  const own = dashes < 0 ? argv : argv.slice(0, dashes);
  if (own.some((word) => word === '--server' || word.startsWith('--server='))) return 'from --server';
  return env.SVC_SERVER === undefined ? 'the default address' : 'from SVC_SERVER';
}

function keyFrom(file: string): string {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ServiceError('bad_request', `The API key file cannot be read: ${localReason(cause)}.`, {
      cause,
      details: { file },
      remedy: 'Name another file with --api-key-file or SVC_API_KEY_FILE, or set SVC_API_KEY.',
    });
  }
  if (key === '') throw new ServiceError('bad_request', 'The API key file is empty.', { details: { file } });
  return key;
}
