// The address at which a browser opens the console, logged in.
import type { Client } from '../client/client.ts';
import { asServiceError } from '../domain/errors.ts';

/** The address has a code that is good once, unless authentication is off. */
export async function consoleAddress(client: Client, server: string): Promise<string> {
  const code = await codeOf(client);
  return `${server.replace(/\/+$/, '')}/console/${code === undefined ? '' : `login#code=${code}`}`;
}

async function codeOf(client: Client): Promise<string | undefined> {
  try {
    return (await client.system.loginCode()).code;
  } catch (error) {
    if (asServiceError(error).details?.reason === 'authentication_off') return undefined;
    throw error;
  }
}
