// The Host header: it must be well formed, and without authentication on loopback it must name this machine.
// Otherwise a web page whose name is pointed at 127.0.0.1 (DNS rebinding) could use the service from a browser.
import { isIP } from 'node:net';
import { ServiceError } from '../../domain/errors.ts';
import { isLoopbackHost } from '../../domain/loopback.ts';
import type { Config } from '../../schema/config.ts';
import { ownTarget } from '../e2b/sandbox-ports.ts';

const SHAPE = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))(?::\d{1,5})?$/;

/** Throws `bad_request` for a malformed Host, `forbidden` for a name that is not served; HTTP/1.0 may have none. */
export function hostCheck({
  server,
  auth,
}: Pick<Config, 'server' | 'auth'>): (host: string | undefined, httpVersion: string) => void {
  const open = server.cors_allowed_origins.includes('*');
  const anyName = auth.enabled || open || !isLoopbackHost(server.host);
  // Where a token of the sandbox is asked for all the same.
  const isOfSandbox = (name: string) => ownTarget({ host: name }, server.preview_domain) !== undefined;
  const known = new Set(['localhost', server.host, ...server.cors_allowed_origins.map(nameOfOrigin)]);
  return (host, httpVersion) => {
    if (host === undefined && httpVersion !== '1.1') return;
    const match = SHAPE.exec(host ?? '');
    if (!match) throw new ServiceError('bad_request', 'The Host header is missing or malformed.');
    if (anyName) return;
    const name = match[1]!.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    if (known.has(name) || name.endsWith('.localhost') || isIP(name) !== 0 || isOfSandbox(name)) return;
    throw new ServiceError(
      'forbidden',
      'Without authentication, this server accepts only the names of this machine.',
      {
        remedy: 'Use localhost, set auth.enabled, or add the origin to server.cors_allowed_origins.',
      },
    );
  };
}

function nameOfOrigin(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : origin;
}
