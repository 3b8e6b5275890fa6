// Reads worker tokens, also from standard input, and shows them. Other users can read a command line.
import { ServiceError } from '../domain/errors.ts';
import { printableJson } from '../domain/printable.ts';
import type { WorkerTokenPayload } from '../domain/worker-token.ts';
import { inputStream } from './input-stream.ts';
import { line } from './print.ts';

const MOST_BYTES = 16 * 1024;

/** `-` reads standard input and trims it. Throws `bad_request` for more than 16 KiB. */
export async function tokenGiven(argument: string): Promise<string> {
  if (argument !== '-') return argument;
  const parts: Buffer[] = [];
  for await (const part of await inputStream('-')) {
    parts.push(part as Buffer);
    if (parts.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES)
      throw new ServiceError('bad_request', 'The token is too long.');
  }
  return Buffer.concat(parts).toString().trim();
}

/** Quotes scopes as JSON, because anybody can write a token. */
export function inspectedText({ left, ...token }: WorkerTokenPayload & { left: string }): string {
  const stamp = (seconds: number) => new Date(Math.min(seconds, 8e12) * 1000).toISOString();
  return [
    line`worker   ${token.worker_id}`,
    line`id       ${token.jti}`,
    line`for      ${token.aud}`,
    `scopes   ${token.scopes.map((scope) => printableJson(scope)).join(', ') || 'none'}`,
    `issued   ${stamp(token.iat)}`,
    ...(token.nbf === undefined ? [] : [`valid    from ${stamp(token.nbf)}`]),
    `expires  ${stamp(token.exp)}`,
    `left     ${left}`,
  ].join('\n');
}

export function verdictText({
  ok,
  worker_id,
  fault,
}: {
  ok: boolean;
  worker_id: string;
  fault?: string;
}): string {
  return ok
    ? line`The token is valid for worker ${worker_id}.`
    : line`The token is not valid for worker ${worker_id}. ${fault ?? ''}`;
}
