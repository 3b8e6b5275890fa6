// Worker tokens on a terminal, and from standard input: on a command line others can read them.
import { ServiceError } from '../domain/errors.ts';
import { printableJson } from '../domain/printable.ts';
import type { WorkerTokenPayload } from '../domain/worker-token.ts';
import { inputStream } from './input-stream.ts';
import { line } from './print.ts';

const MOST_BYTES = 16 * 1024;

/** `-` reads it from standard input, without the blanks around it. Throws `bad_request` for more than 16 KiB. */
export async function tokenGiven(argument: string): Promise<string> {
  if (argument !== '-') return argument;
  const parts: Buffer[] = [];
  for await (const part of await inputStream('-')) {
    parts.push(part as Buffer);
    if (parts.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES)
      throw new ServiceError('bad_request', 'This is no token: it is too long.');
  }
  return Buffer.concat(parts).toString().trim();
}

/** JSON quotes what is not plain: a token is anybody's text. */
export function inspectedText({ left, ...token }: WorkerTokenPayload & { left: string }): string {
  const stamp = (seconds: number) => new Date(Math.min(seconds, 8e12) * 1000).toISOString();
  return [
    line`worker   ${token.worker_id}`,
    line`id       ${token.jti}`,
    line`for      ${token.aud}`,
    `scopes   ${token.scopes.map((scope) => printableJson(scope)).join(', ') || 'none'}`,
    `made     ${stamp(token.iat)}`,
    ...(token.nbf === undefined ? [] : [`holds    from ${stamp(token.nbf)}`]),
    `ends     ${stamp(token.exp)}`,
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
    ? line`It is accepted from worker ${worker_id}.`
    : line`It is not accepted from worker ${worker_id}. ${fault ?? ''}`;
}
