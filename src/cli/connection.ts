// The server that client commands talk to: flags, then SVC_ variables, then the default address.
import { readFileSync } from 'node:fs';
import { Flags } from '@oclif/core';
import { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';

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
    description: 'File that holds the API key; SVC_API_KEY may hold the key itself.',
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
};

export interface ConnectionFlags {
  server: string;
  'api-key-file'?: string | undefined;
  user?: string | undefined;
}

/** A client for what the flags and `env` say. Nothing is sent yet. Throws `bad_request` for a key file that cannot be used. */
export function connect(flags: ConnectionFlags, env: NodeJS.ProcessEnv = process.env): Client {
  const apiKey = flags['api-key-file'] === undefined ? env.SVC_API_KEY : keyFrom(flags['api-key-file']);
  return new Client({
    server: flags.server,
    ...(apiKey ? { apiKey } : {}),
    ...(flags.user === undefined ? {} : { user: flags.user }),
  });
}

function keyFrom(file: string): string {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ServiceError('bad_request', 'The API key file cannot be read.', { cause, details: { file } });
  }
  if (key === '') throw new ServiceError('bad_request', 'The API key file is empty.', { details: { file } });
  return key;
}
